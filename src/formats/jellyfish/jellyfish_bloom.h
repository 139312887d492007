#pragma once
/// Jellyfish's Bloom counters (`jellyfish bc`): whether a k-mer occurred never, once, or more often, with a
/// small share of errors upwards.
///
/// Behind the header come digits from 0 to 2, five a byte, the first one the least: byte = sum of digit *
/// 3^i. A k-mer has `hashes` digits, the i-th at (a + i * b) mod `digits`, where a and b are the remainders
/// of its products with two matrices of 64 rows over GF(2). Each occurrence adds 1 to all of them, up to 2.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "file/mapped_input.h"
#include "formats/jellyfish/jellyfish_header.h"
#include "kmer/kmer.h"

namespace warpmer::formats {

/// Finds the digits of k-mers.
class BloomDigits {
 public:
  explicit BloomDigits(const JellyfishBloomHeader& header);

  /// Calls `visit` with the place of each digit.
  template <class Visit>
  void for_each(Key128 kmer, Visit&& visit) const {
    std::array<std::uint64_t, 2> products{};
    for (std::uint32_t bit = 0; bit < 2 * k_; ++bit) {
      const auto is_set = std::uint64_t{0} - static_cast<std::uint64_t>(kmer >> bit & 1);
      for (std::size_t i = 0; i < 2; ++i) products[i] ^= is_set & columns_[i][bit];
    }
    const std::uint64_t first = products[0] % digits_, step = products[1] % digits_;
    for (std::uint64_t i = 0; i < hashes_; ++i) visit((first + i * step) % digits_);
  }

 private:
  std::uint32_t k_;
  std::uint64_t digits_, hashes_;
  std::array<std::vector<std::uint64_t>, 2> columns_;  ///< that of the lowest bit first
};

/// A counter that is read.
class JellyfishBloom {
 public:
  /// Takes a file that map_jellyfish opened. InputError if it is none, damaged, or cut off.
  explicit JellyfishBloom(std::unique_ptr<file::MappedInput> file);

  [[nodiscard]] const JellyfishBloomHeader& header() const noexcept { return header_; }
  /// Returns 0, 1, or 2 for more.
  [[nodiscard]] unsigned occurrences(Key128 kmer) const;

 private:
  std::unique_ptr<file::MappedInput> file_;
  JellyfishBloomHeader header_;
  BloomDigits places_;
};

/// A counter that is made.
class JellyfishBloomSink {
 public:
  /// For so many k-mers, of which a share of about `error_share` will seem to occur once more often.
  /// UsageError for a share for which there is no counter; ResourceError if it takes more than
  /// `memory_bytes`.
  JellyfishBloomSink(std::uint32_t k, bool canonical, std::uint64_t kmers, double error_share,
                     std::uint64_t memory_bytes);

  void add(Key128 kmer, std::uint64_t occurrences);
  void write(const std::string& path, const JellyfishCall& made_by) const;

 private:
  JellyfishBloomHeader header_;
  BloomDigits places_;
  std::vector<std::uint8_t> bytes_;
};

}  // namespace warpmer::formats
