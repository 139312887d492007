#pragma once
/// A k-mer that may be one of a pair, and what is known of it.

#include <cstdint>

namespace warpmer::cpu {

/// The facts of a k-mer, in one word: its count, how it is read, and the number of its canonical form
/// among all.
class HetmerFacts {
 public:
  HetmerFacts() = default;
  HetmerFacts(std::uint64_t number, std::uint64_t count) : word_(number << kNumberShift | count) {}
  explicit HetmerFacts(std::uint64_t word) : word_(word) {}

  [[nodiscard]] std::uint64_t word() const { return word_; }
  [[nodiscard]] std::uint64_t number() const { return word_ >> kNumberShift; }
  [[nodiscard]] std::uint32_t count() const { return word_ & kCountMask; }
  /// True for the reverse complement of the canonical form.
  [[nodiscard]] bool is_reverse() const { return (word_ & kReverse) != 0; }
  /// True where both forms are the same.
  [[nodiscard]] bool is_palindrome() const { return (word_ & kPalindrome) != 0; }
  /// True for one of a pair that is the same on both strands; not told of single k-mers.
  [[nodiscard]] bool is_in_own_pair() const { return (word_ & kOwnPair) != 0; }

  [[nodiscard]] HetmerFacts reversed() const { return HetmerFacts(word_ | kReverse); }
  [[nodiscard]] HetmerFacts palindrome() const { return HetmerFacts(word_ | kPalindrome); }
  [[nodiscard]] HetmerFacts in_own_pair() const { return HetmerFacts(word_ | kOwnPair); }

 private:
  /// Counts are below backend::PairFrequencies::kMostSum.
  static constexpr std::uint64_t kCountMask = 1023, kReverse = 1 << 10, kPalindrome = 1 << 11,
                                 kOwnPair = 1 << 12;
  static constexpr unsigned kNumberShift = 13;

  std::uint64_t word_ = 0;
};

template <class Key>
struct HetmerEntry {
  Key kmer;
  HetmerFacts facts;
};

}  // namespace warpmer::cpu
