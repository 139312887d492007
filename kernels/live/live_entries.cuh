#pragma once
/// The content of a live table, or of a part of it that is on a device: tallies of its counts, lists of its
/// k-mers by shard.

#include <cuda_runtime.h>

#include <cstdint>

namespace warpmer::gpu {

/// A k-mer of a frozen shard, with its count, which is as wide as the key so that no bytes are left between.
template <class Key>
struct PlacedKmer {
  Key key;  ///< groups::GroupKeys
  Key count;
};

template <class Key>
class LiveEntries {
 public:
  virtual ~LiveEntries() = default;
  LiveEntries(const LiveEntries&) = delete;
  LiveEntries& operator=(const LiveEntries&) = delete;

  /// Enqueues counting the k-mers of each shard, which are added to `sizes`, one for each shard. No insertion
  /// or removal may run side by side with it, or with those that follow.
  virtual void count_shards(unsigned long long* sizes, cudaStream_t stream) const = 0;
  /// Enqueues listing the k-mers of shards [first, end) in any order, those of a shard from `places[shard]`
  /// on; the places are moved to the shards' ends.
  virtual void list_shards(std::uint32_t first, std::uint32_t end, unsigned long long* places,
                           PlacedKmer<Key>* to, cudaStream_t stream) const = 0;

  /// Counts up to this are tallied on the device.
  static constexpr std::uint32_t kTallies = 1u << 16;
  /// Enqueues adding up how many k-mers have each count below kTallies, at `kmers[count]`, and, at
  /// `kmers[kTallies]`, how many have others.
  virtual void tally(unsigned long long* kmers, cudaStream_t stream) const = 0;
  /// Enqueues listing the other counts in any order; `*size` is 0 before.
  virtual void list_large(std::uint32_t* counts, std::uint32_t* size, cudaStream_t stream) const = 0;

 protected:
  LiveEntries() = default;
};

}  // namespace warpmer::gpu
