#pragma once
/// The bits of a shard: its parts, and how wide the numbers in them are. docs/index-format.md is the
/// specification.

#include <bit>
#include <cstdint>

#include "groups/group_shape.h"
#include "kmer/bit_stream.h"
#include "kmer/platform.h"

namespace warpmer::groups {

/// Mean number of strings in a bucket. A lookup reads more of them when it is larger; there are more offsets
/// when it is smaller: with 2, 3, 4, 5 a k-mer of reads takes 1.26, 1.21, 1.19, 1.18 bytes, and a super-k-mer
/// 93, 101, 104, 115 ns (docs/index-format.md).
inline constexpr std::uint32_t kStringsPerBucket = 4;
/// A group of more strings is large: it has a record of its own, with an order for every layer, so that the
/// cost of a lookup grows only with the logarithm of their number. With 16 there are 85 times as many of them
/// in reads of 100x as with 64.
inline constexpr std::uint32_t kMostInlineStrings = 64;
static_assert(kMostInlineStrings <= 64, "the flags of a group are written as one field");
/// In the record of a large group, where a string's bases and counts begin is said for one of so many
/// strings.
inline constexpr std::uint32_t kStringsPerMark = 8;

/// Returns the bits of a number: 0 for 0.
WARPMER_HD constexpr std::uint32_t bits_of(std::uint64_t v) {
#if defined(__CUDA_ARCH__)
  return 64 - static_cast<std::uint32_t>(__clzll(static_cast<long long>(v)));
#else
  return static_cast<std::uint32_t>(std::bit_width(v));
#endif
}

/// The sizes of a shard, as its directory entry has them. All else follows.
struct ShardSizes {
  std::uint64_t kmers = 0;
  std::uint64_t groups = 0;
  std::uint64_t buckets = 0;       ///< 0 in an empty shard alone
  std::uint64_t large_groups = 0;  ///< with records of their own
  std::uint64_t offset_bits = 0;   ///< of each offset; as wide as the others, so that nothing is padding
  std::uint64_t words = 0;         ///< of 64 bits, of the payload

  friend bool operator==(const ShardSizes&, const ShardSizes&) = default;
};

/// Lengths of strings, as a number. A string of left flank a has 1 to a + 1 k-mers (as many as layers from a
/// down), so (a, kmers - 1) is a place in a triangle; the number behind the last one stands for a large
/// group.
class StringLengths {
 public:
  WARPMER_HD explicit constexpr StringLengths(std::uint32_t flank_bases) : n_(flank_bases) {}

  WARPMER_HD constexpr std::uint32_t large() const { return (n_ + 1) * (n_ + 2) / 2; }
  WARPMER_HD constexpr std::uint32_t bits() const { return bits_of(large()); }
  WARPMER_HD static constexpr std::uint32_t code(std::uint32_t left_bases, std::uint32_t kmers) {
    return left_bases * (left_bases + 1) / 2 + kmers - 1;
  }

 private:
  std::uint32_t n_;
};

/// The numbers that the fields of a shard are laid out by.
struct ShardLayout {
  std::uint32_t rest_bits;  ///< of a group's id, below the shard's number
  std::uint64_t buckets;
  std::uint32_t remainder_bits;  ///< of a group's id within its bucket
  std::uint32_t length_bits;     ///< of a string's lengths
  std::uint32_t large_bits;      ///< of the number of a large group
  std::uint32_t offset_bits;
  std::uint64_t strings_at;  ///< the bit where buckets begin
  std::uint64_t reciprocal;  ///< of `buckets`, times 2^64, rounded up: so that no lookup divides

  WARPMER_HD constexpr ShardLayout(const GroupShape& shape, const ShardSizes& sizes)
      : rest_bits(shape.rest_bits()),
        buckets(sizes.buckets),
        remainder_bits(sizes.buckets == 0 ? 0 : bits_of(((1u << rest_bits) - 1) / sizes.buckets)),
        length_bits(StringLengths(shape.flank_bases()).bits()),
        large_bits(sizes.large_groups == 0 ? 0 : bits_of(sizes.large_groups - 1)),
        offset_bits(static_cast<std::uint32_t>(sizes.offset_bits)),
        strings_at(64 * ((offsets(sizes) * sizes.offset_bits + 63) / 64)),
        reciprocal(sizes.buckets < 2 ? 0 : ~std::uint64_t{0} / sizes.buckets + 1) {}

  /// Returns the number of offsets: one for each bucket and record, and their end.
  WARPMER_HD static constexpr std::uint64_t offsets(const ShardSizes& sizes) {
    return sizes.buckets == 0 ? 0 : sizes.buckets + sizes.large_groups + 1;
  }
  /// Returns the bucket of a group. Its range is as even as any number of buckets allows.
  WARPMER_HD constexpr std::uint64_t bucket_of(std::uint64_t rest) const {
    return (rest * buckets) >> rest_bits;
  }
  /// Returns the smallest id that belongs to a bucket: 2^rest_bits * bucket / buckets, rounded up. The
  /// dividend has at most 2 * rest_bits + 1 bits, and the reciprocal is too large by less than `buckets` /
  /// 2^64, so the product is too large by less than one part in `buckets`.
  WARPMER_HD constexpr std::uint64_t first_of(std::uint64_t bucket) const {
    if (buckets < 2) return bucket << rest_bits;
    const std::uint64_t dividend = (bucket << rest_bits) + buckets - 1;
#if defined(__CUDA_ARCH__)
    return __umul64hi(dividend, reciprocal);
#else
    return static_cast<std::uint64_t>((Key128{dividend} * reciprocal) >> 64);
#endif
  }
};

/// Returns the number of buckets for so many strings.
constexpr std::uint64_t buckets_for(std::uint64_t strings, std::uint32_t rest_bits) {
  const std::uint64_t wanted = (strings + kStringsPerBucket - 1) / kStringsPerBucket;
  const std::uint64_t most = std::uint64_t{1} << rest_bits;
  return wanted < most ? wanted : most;
}

}  // namespace warpmer::groups
