#pragma once
/// Counting without a table that is probed: hashes are put into buckets by their top bits, a HashGraph (Green
/// 2019, section 3.2), and each bucket is sorted and added up. For most shards, what comes once or a few
/// times is sorted sooner than looked up. It is also how tables that hold keys in any order come into
/// canonical order.

#include <algorithm>
#include <bit>

#include "cpu/count/hash_counter.h"
#include "kmer/kmer.h"

namespace warpmer::cpu {

template <class Key>
class SortedBuckets {
 public:
  /// Hashes that can be reduced at a time.
  static constexpr std::size_t kMostHashes = std::size_t{1} << 31;

  /// Keys have so many bits, of which the top ones are as good as random: hashes, or keys of groups.
  template <int Words>
  SortedBuckets(const ShardKernels<Key, Words>& kernels, std::uint32_t key_bits)
      : place_(kernels.place), reduce_(kernels.reduce), key_bits_(key_bits) {
    buckets_.sort = [](Key* first, Key* last) { std::sort(first, last); };
  }

  /// Adds up what is in a list, at most kMostHashes: writes the distinct keys in increasing order with their
  /// counts to the arrays, in which the list may be, and returns how many they are. Changes weights of the
  /// list; what does not fit an entry of a bucket goes to `carries`.
  std::size_t reduce(const HashList<Key>& list, ShardArrays<Key>& arrays, Carries<Key>& carries) {
    const std::size_t n = list.size;
    buckets_.bits = std::clamp(static_cast<std::uint32_t>(std::bit_width(n / kBucketEntries)),
                               kLeastBucketBits, key_bits_);
    buckets_.rest_bits = key_bits_ - buckets_.bits;
    buckets_.weight_bits = std::min(32u, kKeyBits<Key> - buckets_.rest_bits);
    if (std::uint64_t{list.weights_or} >> buckets_.weight_bits != 0) carry_weights(list, carries);
    buckets_.entries = placed_.get(n + 8);
    buckets_.ends = ends_.get(std::size_t{1} << buckets_.bits);
    place_(list, buckets_);
    return reduce_(buckets_, arrays.keys.grow(n + 8, 0), arrays.counts.get(n + 8));
  }

  [[nodiscard]] std::uint64_t memory_bytes() const { return placed_.bytes() + ends_.bytes(); }
  void clear() {
    placed_.clear();
    ends_.clear();
  }

 private:
  /// Entries in a bucket: between half of this and all of it.
  static constexpr std::size_t kBucketEntries = 6;
  static constexpr std::uint32_t kLeastBucketBits = 8;  // so that there is room for weights

  /// Weights that an entry of a bucket has no room for are kept aside, but for 1.
  void carry_weights(const HashList<Key>& list, Carries<Key>& carries) const {
    for (std::size_t i = 0; i < list.size; ++i) {
      if (std::uint64_t{list.weights[i]} >> buckets_.weight_bits == 0) continue;
      carries[list.keys[i]] += list.weights[i] - 1;
      list.weights[i] = 1;
    }
  }

  decltype(ShardKernels<Key, 2>::place) place_;
  decltype(ShardKernels<Key, 2>::reduce) reduce_;
  std::uint32_t key_bits_;
  Buckets<Key> buckets_{};
  Scratch<Key> placed_;
  Scratch<std::uint32_t> ends_;
};

}  // namespace warpmer::cpu
