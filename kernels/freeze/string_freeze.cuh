#pragma once
/// Freezes on the device: makes the payloads of index format 2 (docs/index-format.md) from counted bins,
/// byte for byte those of groups/group_key.h.

#include <cstdint>
#include <memory>
#include <vector>

#include "groups/shard_layout.h"
#include "kernels/freeze/kmer_order.cuh"
#include "kmer/kmer.h"

namespace warpmer::gpu {

/// Freezes some consecutive shards at a time. All calls are for one stream.
template <class Kmer>
class StringFreezer {
 public:
  /// The bytes that a k-mer in order takes on the device beside its payload, at most: a flag, and 44 for a
  /// string, if each is one; and those of a counted one, with its key and count.
  static constexpr std::uint64_t kStringBytes = 1 + 44;
  static constexpr std::uint64_t kEntryBytes = sizeof(Kmer) + sizeof(std::uint32_t) + kStringBytes;

  virtual ~StringFreezer() = default;
  /// Makes strings of the k-mers. Returns the sizes of each shard; the thread waits for the device meanwhile.
  virtual const std::vector<groups::ShardSizes>& measure(const CountedShards<Kmer>& shards,
                                                         cudaStream_t stream) = 0;
  /// Enqueues the writing of the payloads of the shards that were measured last, one behind the other. There
  /// is room for them, and its contents do not matter. The counted k-mers' memory is used until that is over.
  virtual void write(unsigned long long* words, cudaStream_t stream) = 0;
};

template <class Kmer>
std::unique_ptr<StringFreezer<Kmer>> make_string_freezer(const KmerParams& params);
/// Makes one for k-mers that come as keys of groups::GroupKeys, none of which has a count that is big.
template <class Key>
std::unique_ptr<StringFreezer<Key>> make_key_freezer(const KmerParams& params);

}  // namespace warpmer::gpu
