#pragma once
/// The seeded hash functions of the tables that need several, or others when a build has failed. They are not
/// part of any file format: a table's owner keeps the seed while the table lives.

#include <cstdint>

#include "kmer/kmer.h"
#include "kmer/platform.h"

namespace warpmer::table {

/// Hashes 32 bits wide, told apart by a number from 0 to kFunctions - 1, of one 64-bit mix of key and seed.
/// A mix is worth its two multiplications only once for each key; each function of it is one more.
/// (Awad et al. 2023, section 7, take ((a k + b) mod p) mod L with random a, b, p. A mix keeps its promises
/// for the regular keys that k-mers of repeats are, without divisions.)
template <class Key>
class HashFamily {
 public:
  static constexpr int kFunctions = 4;

  WARPMER_HD explicit constexpr HashFamily(std::uint32_t seed)
      : seed_(shuffle((std::uint64_t{seed} << 1 | 1) * kGolden)) {}

  /// Every bit of the key and of the seed reaches every bit; keys of up to 64 bits are never mixed alike.
  [[nodiscard]] WARPMER_HD constexpr std::uint64_t mix(Key key) const {
    if constexpr (sizeof(Key) == 16) {
      return shuffle(static_cast<std::uint64_t>(key) ^
                     shuffle(static_cast<std::uint64_t>(key >> 64) ^ seed_));
    } else {
      return shuffle(key ^ seed_);
    }
  }

  /// Returns one function's hash of a mix, 32 bits.
  [[nodiscard]] WARPMER_HD static constexpr std::uint32_t hash(std::uint64_t mixed, int function) {
    // The first bits of the fractional parts of sqrt(2), sqrt(5), sqrt(7) and sqrt(11), made odd: multiples
    // of each other would be of no use, because the top bits of x tell most of those of 3 x.
    const std::uint64_t multiplier = function == 0   ? 0x6A09E667F3BCC909u
                                     : function == 1 ? 0x3C6EF372FE94F82Bu
                                     : function == 2 ? 0xA54FF53A5F1D36F1u
                                                     : 0x510E527FADE682D1u;
    return static_cast<std::uint32_t>((mixed * multiplier) >> 32);
  }

 private:
  static constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15u;

  WARPMER_HD static constexpr std::uint64_t shuffle(std::uint64_t x) {
    x ^= x >> 32;
    x *= kGolden;
    x ^= x >> 29;
    x *= 0xBB67AE8584CAA73Bu;
    return x ^ (x >> 32);
  }

  std::uint64_t seed_;
};

/// Returns one of `buckets` buckets, all equally likely, by a hash's top bits: any number will do, not only
/// powers of two.
WARPMER_HD constexpr std::uint32_t scale(std::uint32_t hash, std::uint32_t buckets) {
  return static_cast<std::uint32_t>((std::uint64_t{hash} * buckets) >> 32);
}

}  // namespace warpmer::table
