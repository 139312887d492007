#include "formats/fastk/fastk_histogram.h"

#include <algorithm>
#include <cstring>

#include "file/mapped_input.h"
#include "formats/fastk/fastk_table.h"

namespace warpmer::formats {
namespace {

constexpr std::uint64_t kHistogramHeaderBytes = 28;

/// The file's first bytes.
struct [[gnu::packed]] HistogramHeader {
  std::int32_t k, low, high;
  std::int64_t low_instances, high_instances;
};
static_assert(sizeof(HistogramHeader) == kHistogramHeaderBytes);

}  // namespace

FastkHistogram fastk_histogram_of(std::uint32_t k, const index::Histogram& histogram) {
  FastkHistogram result{.k = k, .high = static_cast<std::uint32_t>(kLargestFastkCount), .kmers = {}};
  result.kmers.resize(kLargestFastkCount);
  for (const auto& [count, kmers] : histogram) {
    const auto number = static_cast<std::int64_t>(kmers);
    result.kmers[std::min(count, kLargestFastkCount) - 1] += number;
    if (count == 1) result.low_instances += number;
    if (count >= kLargestFastkCount) result.high_instances += number * static_cast<std::int64_t>(count);
  }
  return result;
}

FastkHistogram read_fastk_histogram(const std::string& path) {
  const file::MappedInput file(path);
  const auto bytes = file.bytes();
  HistogramHeader header{};
  if (bytes.size() < sizeof header) file.refuse("this is no FastK histogram, or it is cut off");
  std::memcpy(&header, bytes.data(), sizeof header);
  const bool is_sound = header.k >= 1 && header.low >= 1 && header.high >= header.low &&
                        header.high <= static_cast<std::int64_t>(kLargestFastkCount);
  const auto rows = static_cast<std::uint64_t>(std::int64_t{header.high} - header.low + 1);
  if (!is_sound || bytes.size() != sizeof header + 8 * rows)
    file.refuse("this is no FastK histogram, or it is cut off or damaged");
  FastkHistogram result{.k = static_cast<std::uint32_t>(header.k),
                        .low = static_cast<std::uint32_t>(header.low),
                        .high = static_cast<std::uint32_t>(header.high),
                        .low_instances = header.low_instances,
                        .high_instances = header.high_instances,
                        .kmers = std::vector<std::int64_t>(rows)};
  std::memcpy(result.kmers.data(), bytes.data() + sizeof header, 8 * rows);
  return result;
}

std::string encoded(const FastkHistogram& histogram) {
  const HistogramHeader header{
      static_cast<std::int32_t>(histogram.k), static_cast<std::int32_t>(histogram.low),
      static_cast<std::int32_t>(histogram.high), histogram.low_instances, histogram.high_instances};
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes.append(reinterpret_cast<const char*>(histogram.kmers.data()), 8 * histogram.kmers.size());
  return bytes;
}

}  // namespace warpmer::formats
