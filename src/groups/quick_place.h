#pragma once
/// The place of a k-mer in its group, in fewer steps than the definition (flanked_kmer.h).

#include <cstdint>

#include "groups/flanked_kmer.h"
#include "groups/group_key.h"
#include "kmer/hash.h"

namespace warpmer::groups {

/// Finds which m-mer of a k-mer has the smallest hash, and notices most ties by the way. A hash gives its
/// lowest bits to the number of its m-mer: `first` is the smallest with these, and `last` with the numbers
/// that count down. Of m-mers that differ in no other bits, which are ties, `first` is that of the first and
/// `last` that of the last.
struct SmallestMmer {
  static constexpr std::uint32_t kNumbers = 63;  ///< there are at most k - m + 1 = 50 of them

  std::uint32_t first = UINT32_MAX, last = UINT32_MAX;

  /// Looks at the m-mer of a number; of canonical k-mers it is canonical.
  WARPMER_HD constexpr void note(std::uint32_t number, std::uint32_t mmer) {
    const std::uint32_t hash = minimizer_hash(mmer) & ~kNumbers;
    const std::uint32_t up = hash + number, down = hash + (kNumbers - number);
    first = up < first ? up : first;
    last = down < last ? down : last;
  }
  /// True when there is no tie.
  [[nodiscard]] WARPMER_HD constexpr bool is_one() const { return (first ^ last) == kNumbers; }
  [[nodiscard]] WARPMER_HD constexpr std::uint32_t number() const { return first & kNumbers; }
};

/// Returns the place of a k-mer, of which `other` is the reverse complement.
template <class Kmer, class Key>
WARPMER_HD constexpr typename GroupKeys<Key, Key>::Place place_at(Kmer kmer, Kmer other,
                                                                  const SmallestMmer& smallest,
                                                                  const GroupKeys<Key, Key>& keys,
                                                                  bool canonical) {
  // Of several places only the definition says which one counts; that is rare.
  if (!smallest.is_one()) return keys.place(kmer, canonical);
  return keys.place_of(flanked_at<Key>(kmer, other, smallest.number(), keys.shape(), canonical));
}

}  // namespace warpmer::groups
