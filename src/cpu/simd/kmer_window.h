#pragma once
/// K-mers of packed text, one base after the other.

#include <cstdint>

#include "kmer/kmer.h"

namespace warpmer::cpu {

/// Returns a base of packed text: 32 a word, base i in bits 2 * (i % 32).
inline std::uint64_t packed_base(const std::uint64_t* packed, std::uint64_t i) {
  return (packed[i / 32] >> (2 * (i % 32))) & 3;
}

/// The k-mer that the last k bases make, on both strands.
template <class Key>
class KmerWindow {
 public:
  explicit KmerWindow(std::uint32_t k) : mask_(key_mask<Key>(k)), top_(2 * (k - 1)) {}

  void push(std::uint64_t base) {
    forward_ = ((forward_ << 2) | base) & mask_;
    reverse_ = (reverse_ >> 2) | (Key{3 - base} << top_);
  }
  [[nodiscard]] Key forward() const { return forward_; }
  /// True when the canonical k-mer is the other strand's. A palindrome is both; it counts as forward.
  [[nodiscard]] bool is_reverse() const { return reverse_ < forward_; }
  [[nodiscard]] Key canonical() const { return is_reverse() ? reverse_ : forward_; }

 private:
  Key mask_;
  std::uint32_t top_;
  Key forward_ = 0;
  Key reverse_ = 0;
};

}  // namespace warpmer::cpu
