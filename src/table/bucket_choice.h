#pragma once
/// Chooses the bucket that a key goes to: for all tables of numbered buckets in which a key has one (the slab
/// hash, HashGraph).

#include <cstdint>

#include "kmer/platform.h"
#include "table/hash_family.h"

namespace warpmer::table {

/// The bucket of a key by a seeded hash; any number of buckets, from 1 on, all equally likely.
template <class Key>
class HashedBucket {
 public:
  WARPMER_HD constexpr HashedBucket(std::uint32_t buckets, std::uint32_t seed)
      : family_(seed), buckets_(buckets) {}
  [[nodiscard]] WARPMER_HD constexpr std::uint32_t buckets() const { return buckets_; }
  [[nodiscard]] WARPMER_HD constexpr std::uint32_t operator()(Key key) const {
    return scale(HashFamily<Key>::hash(family_.mix(key), 0), buckets_);
  }
  /// Returns 32 bits, of which the top ones say nothing of the bucket, for steps from there.
  [[nodiscard]] WARPMER_HD constexpr std::uint32_t other_hash(Key key) const {
    return HashFamily<Key>::hash(family_.mix(key), 1);
  }

 private:
  HashFamily<Key> family_;
  std::uint32_t buckets_;
};

/// For keys that are hashes already (kmer/hash.h): buckets in order hold keys in order. Any number of
/// buckets.
template <class Key>
class OrderedBucket {
 public:
  /// Keys are below 2^key_bits.
  WARPMER_HD OrderedBucket(std::uint32_t buckets, std::uint32_t key_bits)
      : buckets_(buckets), key_bits_(key_bits) {}
  [[nodiscard]] WARPMER_HD std::uint32_t buckets() const { return buckets_; }
  [[nodiscard]] WARPMER_HD std::uint32_t operator()(Key key) const {
    const auto top = key_bits_ > 32 ? static_cast<std::uint32_t>(key >> (key_bits_ - 32))
                                    : static_cast<std::uint32_t>(key) << (32 - key_bits_);
    return scale(top, buckets_);
  }
  /// Likewise. Multiplied, the lowest bits tell keys of one bucket apart.
  [[nodiscard]] WARPMER_HD std::uint32_t other_hash(Key key) const {
    return static_cast<std::uint32_t>(key) * 0x9E3779B1u;
  }

 private:
  std::uint32_t buckets_;
  std::uint32_t key_bits_;
};

/// The bucket of keys that are hashes of `key_bits` bits already: their top `bits` bits, so that buckets in
/// order hold keys in order. A fixed number of higher bits may be cut off: the keys of one bin have them
/// all alike.
template <class Key>
class TopBitsBucket {
 public:
  /// `bits` of the low `key_bits` bits of a key; bits is at most key_bits and 31.
  WARPMER_HD constexpr TopBitsBucket(std::uint32_t key_bits, std::uint32_t bits)
      : shift_(key_bits - bits), bits_(bits) {}
  [[nodiscard]] WARPMER_HD constexpr std::uint32_t buckets() const { return std::uint32_t{1} << bits_; }
  [[nodiscard]] WARPMER_HD constexpr std::uint32_t operator()(Key key) const {
    return bits_ == 0 ? 0 : static_cast<std::uint32_t>(key >> shift_) & (buckets() - 1);
  }

 private:
  std::uint32_t shift_;
  std::uint32_t bits_;
};

}  // namespace warpmer::table
