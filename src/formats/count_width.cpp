#include "formats/count_width.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>

#include "base/error.h"
#include "base/warning.h"

namespace warpmer::formats {

std::uint32_t bytes_of_count(std::uint64_t largest) {
  return std::max(1u, (static_cast<std::uint32_t>(std::bit_width(largest)) + 7) / 8);
}

void warn_of_capped(const CappedCounts& capped, const std::string& input) {
  if (capped.kmers == 0) return;
  const bool is_one = capped.kmers == 1;
  warn(fmt::format("{} k-mer{} of {} stand{} at the limit of its counters, {}, and may occur more often",
                   capped.kmers, is_one ? "" : "s", input, is_one ? "s" : "", capped.limit));
}

void check_counts(std::span<const CountedKmer> kmers, std::uint32_t k, std::uint32_t bytes) {
  std::uint64_t bits = 0;
  for (const CountedKmer& each : kmers) bits |= each.count;
  const std::uint64_t largest = largest_of_bytes(bytes);
  if (bits <= largest) return;
  const auto wide =
      std::find_if(kmers.begin(), kmers.end(), [&](const auto& each) { return each.count > largest; });
  std::string text(k, ' ');
  kmer_to_text(wide->kmer, k, text.data());
  throw InputError(
      fmt::format("{} has a count of {}, and the output's counts of {} bytes go up to {}: take wider "
                  "counts, or let them saturate",
                  text, wide->count, bytes, largest));
}

}  // namespace warpmer::formats
