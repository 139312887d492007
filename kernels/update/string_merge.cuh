#pragma once
/// Merges frozen shards on the device: added counts are added up, removed counts are taken away, and the
/// payloads of the rest come out.

#include <cstdint>
#include <vector>

#include "backend/tally.h"
#include "groups/shard_layout.h"
#include "kernels/freeze/count_tally.cuh"
#include "kernels/freeze/kmer_order.cuh"
#include "kernels/freeze/kmer_strings.cuh"
#include "kernels/freeze/string_freeze.cuh"
#include "kernels/freeze/string_groups.cuh"
#include "kernels/freeze/string_payload.cuh"
#include "kernels/update/kmer_combine.cuh"
#include "kernels/update/string_expand.cuh"

namespace warpmer::gpu {

/// Merges some consecutive shards at a time. All calls are for one stream. `Key` holds a key of
/// groups::GroupKeys.
template <class Key>
class StringMerger {
 public:
  StringMerger(std::uint32_t k, bool canonical, std::uint32_t most_shards, cudaStream_t stream);

  /// The most bytes of device memory for each k-mer of all that is merged at once, beside payloads: unpacked,
  /// in order, and as strings. What grows has some to spare.
  static constexpr std::uint64_t kKmerBytes =
      (StringExpander<Key>::kKmerBytes + KmerCombiner<Key>::kKmerBytes + sizeof(Key) + sizeof(std::uint32_t) +
       StringFreezer<Key>::kStringBytes) *
      9 / 8;
  /// And what it takes beside that.
  static constexpr std::uint64_t kFixedBytes =
      CountHistogram::kTallies * sizeof(unsigned long long) + CountTally<Key>::kBytes;

  /// Makes strings of what is left. Returns the sizes of each shard. The thread waits for the device; then
  /// the shards' payloads are not needed any more.
  const std::vector<groups::ShardSizes>& measure(const MergeShards& shards, cudaStream_t stream);
  /// Enqueues the writing of the payloads of the shards that were measured last, one behind the other. There
  /// is room for them, and its contents do not matter.
  void write(unsigned long long* words, cudaStream_t stream);

  /// Adds the counts of all k-mers that were left. The thread waits for the device.
  void add_to(backend::Tally& tally, cudaStream_t stream) const;
  [[nodiscard]] backend::Shortfall shortfall(cudaStream_t stream) const {
    return combiner_.shortfall(stream);
  }

 private:
  StringExpander<Key> expander_;
  GroupedOrder<Key, Key, OrderInput::keys> order_;
  KmerCombiner<Key> combiner_;
  CountTally<Key> tally_;
  DeviceArray<unsigned long long> tallies_{CountHistogram::kTallies};
  backend::Tally large_;  ///< counts that these do not have
  KmerStrings<Key> strings_;
  StringGroups<Key> groups_;
  StringPayload<Key> payload_;
  GroupedStrings<Key> grouped_;  ///< what was measured last
};

}  // namespace warpmer::gpu
