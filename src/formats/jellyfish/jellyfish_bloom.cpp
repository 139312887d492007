#include "formats/jellyfish/jellyfish_bloom.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <random>
#include <utility>

#include "base/error.h"
#include "file/output/buffered_output.h"

namespace warpmer::formats {
namespace {

constexpr std::uint64_t kDigitsOfByte = 5;
constexpr std::array<std::uint8_t, kDigitsOfByte> kPowers = {1, 3, 9, 27, 81};
constexpr unsigned kMostOccurrences = 2;

constexpr std::uint64_t bytes_of_digits(std::uint64_t digits) {
  return digits / kDigitsOfByte + (digits % kDigitsOfByte != 0 ? 1 : 0);
}

unsigned digit_of(std::uint8_t byte, std::uint64_t place) {
  return byte / kPowers[place % kDigitsOfByte] % (kMostOccurrences + 1);
}

/// Sizes as Jellyfish chooses them: whole digits a k-mer, and the number of hashes that is best for these.
JellyfishBloomHeader sized(std::uint32_t k, bool canonical, std::uint64_t kmers, double error_share) {
  const double bits = -std::log(error_share) / std::numbers::ln2;
  JellyfishBloomHeader header{.k = k, .canonical = canonical};
  const auto digits_of_kmer = static_cast<std::uint64_t>(std::lrint(bits / std::numbers::ln2));
  header.hashes = static_cast<std::uint64_t>(std::lrint(bits));
  if (digits_of_kmer == 0 || header.hashes == 0)
    throw UsageError(fmt::format("no Bloom counter has a share of errors of {}", error_share));
  if (kmers > UINT64_MAX / digits_of_kmer)
    throw UsageError(fmt::format("a Bloom counter for {} k-mers is too large", kmers));
  header.digits = kmers * digits_of_kmer;
  std::mt19937_64 random;  // the same columns for all
  for (std::vector<std::uint64_t>& columns : header.columns) {
    columns.resize(2 * std::size_t{k});
    std::ranges::generate(columns, std::ref(random));
  }
  return header;
}

}  // namespace

BloomDigits::BloomDigits(const JellyfishBloomHeader& header)
    : k_(header.k), digits_(header.digits), hashes_(header.hashes), columns_(header.columns) {
  for (auto& columns : columns_) std::ranges::reverse(columns);
}

JellyfishBloom::JellyfishBloom(std::unique_ptr<file::MappedInput> file)
    : file_(std::move(file)), header_(read_jellyfish_bloom_header(*file_)), places_(header_) {
  if (file_->bytes().size() - header_.bytes < bytes_of_digits(header_.digits))
    file_->refuse("this Bloom counter is cut off");
}

unsigned JellyfishBloom::occurrences(Key128 kmer) const {
  const std::byte* const bytes = file_->bytes().data() + header_.bytes;
  unsigned least = kMostOccurrences;
  places_.for_each(kmer, [&](std::uint64_t place) {
    least = std::min(least, digit_of(std::to_integer<std::uint8_t>(bytes[place / kDigitsOfByte]), place));
  });
  return least;
}

JellyfishBloomSink::JellyfishBloomSink(std::uint32_t k, bool canonical, std::uint64_t kmers,
                                       double error_share, std::uint64_t memory_bytes)
    : header_(sized(k, canonical, kmers, error_share)), places_(header_) {
  const std::uint64_t bytes = bytes_of_digits(header_.digits);
  if (bytes > memory_bytes) {
    throw ResourceError(fmt::format("a Bloom counter for {} k-mers takes {} bytes, and there are {}", kmers,
                                    bytes, memory_bytes));
  }
  bytes_.resize(bytes);
}

void JellyfishBloomSink::add(Key128 kmer, std::uint64_t occurrences) {
  places_.for_each(kmer, [&](std::uint64_t place) {
    std::uint8_t& byte = bytes_[place / kDigitsOfByte];
    const std::uint64_t free = kMostOccurrences - digit_of(byte, place);
    byte = static_cast<std::uint8_t>(byte + kPowers[place % kDigitsOfByte] * std::min(occurrences, free));
  });
}

void JellyfishBloomSink::write(const std::string& path, const JellyfishCall& made_by) const {
  file::BufferedOutput output(path);
  output.write(jellyfish_bloom_header(header_, made_by));
  output.write({reinterpret_cast<const char*>(bytes_.data()), bytes_.size()});
  output.finish();
}

}  // namespace warpmer::formats
