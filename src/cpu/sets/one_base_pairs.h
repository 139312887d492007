#pragma once
/// K-mers of some that differ in one base.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "kmer/kmer.h"

namespace warpmer::cpu {

/// A range of bases of a k-mer; the first base is 0.
struct DifferingBases {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  [[nodiscard]] std::uint32_t size() const { return end - begin; }
};

/// Finds the pairs that differ in one base of a range, and nowhere else. Few k-mers are compared each with
/// each. More are sorted by all bases but half of the range, as then those that differ in that half alone are
/// neighbours; then by all but the other half; and so on. One per thread.
template <class Key>
class OneBasePairs {
 public:
  OneBasePairs(std::uint32_t k, DifferingBases bases) : k_(k), bases_(bases), mask_(mask_of(bases)) {}

  /// Returns the bits of the bases that may differ.
  [[nodiscard]] Key mask() const { return mask_; }

  /// Calls `visit(a, b)` once for each pair of the k-mers `kmer_of(0)` to `kmer_of(number - 1)`.
  template <class KmerOf, class Visit>
  void for_each(std::uint32_t number, const KmerOf& kmer_of, const Visit& visit) {
    if (number <= kFewKmers) return compare_all(number, mask_, kmer_of, visit);
    order_.resize(number);
    std::iota(order_.begin(), order_.end(), 0u);
    for_each_of(std::span(order_), bases_, kmer_of, visit);
  }

 private:
  /// Up to so many are compared each with each.
  static constexpr std::size_t kFewKmers = 48;

  [[nodiscard]] Key mask_of(DifferingBases bases) const {
    return static_cast<Key>(key_mask<Key>(bases.size()) << (2 * (k_ - bases.end)));
  }
  static bool differ_in_one(Key a, Key b, Key mask) {
    const auto bits = static_cast<Key>(a ^ b);
    const auto bases = static_cast<Key>((bits | (bits >> 1)) & kLowBits);
    return (bits & ~mask) == 0 && bases != 0 && (bases & (bases - 1)) == 0;
  }

  template <class KmerOf, class Visit>
  static void compare_all(std::uint32_t number, Key mask, const KmerOf& kmer_of, const Visit& visit) {
    for (std::uint32_t a = 0; a + 1 < number; ++a) {
      for (std::uint32_t b = a + 1; b < number; ++b) {
        if (differ_in_one(kmer_of(a), kmer_of(b), mask)) visit(a, b);
      }
    }
  }
  template <class KmerOf, class Visit>
  void for_each_of(std::span<std::uint32_t> some, DifferingBases bases, const KmerOf& kmer_of,
                   const Visit& visit) {
    if (some.size() <= kFewKmers) {
      return compare_all(
          static_cast<std::uint32_t>(some.size()), mask_of(bases),
          [&](std::uint32_t i) { return kmer_of(some[i]); },
          [&](std::uint32_t a, std::uint32_t b) { visit(some[a], some[b]); });
    }
    if (bases.size() == 1) return for_each_alike(some, bases, kmer_of, visit);
    const std::uint32_t middle = bases.begin + bases.size() / 2;
    for_each_alike(some, {bases.begin, middle}, kmer_of, visit);
    for_each_alike(some, {middle, bases.end}, kmer_of, visit);
  }
  /// Takes those together that are alike but for `bases`: of one base at most four.
  template <class KmerOf, class Visit>
  void for_each_alike(std::span<std::uint32_t> some, DifferingBases bases, const KmerOf& kmer_of,
                      const Visit& visit) {
    const Key others = ~mask_of(bases);
    const auto rest_of = [&](std::uint32_t number) { return static_cast<Key>(kmer_of(number) & others); };
    std::sort(some.begin(), some.end(),
              [&](std::uint32_t a, std::uint32_t b) { return rest_of(a) < rest_of(b); });
    for (std::size_t begin = 0, end; begin < some.size(); begin = end) {
      for (end = begin + 1; end < some.size() && rest_of(some[end]) == rest_of(some[begin]);) ++end;
      if (end - begin > 1) for_each_of(some.subspan(begin, end - begin), bases, kmer_of, visit);
    }
  }

  /// The lower bit of each base.
  static constexpr Key kLowBits = static_cast<Key>(~Key{0}) / 3;

  std::uint32_t k_;
  DifferingBases bases_;
  Key mask_;
  std::vector<std::uint32_t> order_;
};

}  // namespace warpmer::cpu
