#pragma once
/// A frozen shard: distinct k-mers with counts, bit-packed. This is the form in which a shard is stored in an
/// index file, kept as a run in memory, and looked up. For k from 13 on it is strings of k-mers
/// (groups/README.md); for smaller k it is packed entries:
///
/// It is a HashGraph (Green 2019: count, prefix-sum, place) over the 2k-bit k-mer hash
/// (kmer/hash.h): the top `bucket_bits` bits of the hash name a bucket, `offsets` is the exclusive
/// prefix sum of bucket sizes, and a bucket's entries, in increasing order, hold only the
/// remaining bits.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "groups/shard_layout.h"

namespace warpmer::index {

/// The numbers needed to read a payload. All are part of the file's directory.
struct ShardShape {
  std::uint64_t entries = 0;        ///< distinct k-mers
  std::uint64_t exceptions = 0;     ///< number of entries whose count does not fit `count_bits`
  std::uint8_t bucket_bits = 0;     ///< 2^bucket_bits buckets
  std::uint8_t count_bits = 1;      ///< width of an entry's count code, at least 1
  std::uint8_t exception_bits = 0;  ///< width of a count in the exception list

  friend bool operator==(const ShardShape&, const ShardShape&) = default;
};

/// A payload that is too large to be in memory: its words can be had, in order.
class PayloadSource {
 public:
  virtual ~PayloadSource() = default;
  /// Returns the next words of the payload, which stay until the next call; none behind its end. By one
  /// thread at a time. ResourceError when they cannot be had.
  virtual std::span<const std::uint64_t> next() = 0;
};

/// Payload, all fields packed least significant bit first into little-endian 64-bit words; each of
/// the three parts starts on a word boundary:
///   offsets     2^bucket_bits + 1 values of bit_width(entries) bits (absent when bucket_bits is 0)
///   entries     `entries` values of (2k - bucket_bits) + count_bits bits: the count code in the low
///               bits, the low 2k - bucket_bits bits of the hash above it
///   exceptions  `exceptions` values of bit_width(entries - 1) + exception_bits bits: the count in
///               the low bits, the entry's number above; increasing by entry number
/// A count code c < 2^count_bits - 1 means count c + 1; the code 2^count_bits - 1 means that the
/// count stands in the exception list.
/// bucket_bits = max(0, ceil(log2(entries / 8))), at most 2k; count_bits is the smallest width that
/// minimises the payload's size. Both are functions of the entries alone, so the bytes are too.
struct FrozenShard {
  ShardShape shape;
  std::vector<std::uint64_t> payload = {};  ///< empty when there are no k-mers, and where there is a source
  std::shared_ptr<PayloadSource> source = {};  ///< source of a payload that is not in memory
  std::optional<std::uint64_t> checksum = {};  ///< the payload's (file/checksum.h), if that is known
  groups::ShardSizes sizes = {};               ///< of strings; then there is no `shape`

  [[nodiscard]] bool has_strings() const noexcept { return sizes.kmers > 0; }
  /// Returns the number of k-mers.
  [[nodiscard]] std::uint64_t kmers() const noexcept { return shape.entries + sizes.kmers; }
};

}  // namespace warpmer::index
