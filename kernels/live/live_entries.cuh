#pragma once
/// The content of a live table, or of a part of it that is on a device: tallies of its counts, lists of its
/// k-mers by shard.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "groups/group_shape.h"
#include "groups/shard_layout.h"
#include "kernels/freeze/kmer_order.cuh"

namespace warpmer::gpu {

/// The k-mers of consecutive shards by bins, as freezing takes them: a shard has 2^bits bins, each for the
/// groups whose ids begin alike. `Key` holds a key of groups::GroupKeys.
struct LiveBins {
  std::uint32_t first_shard, end_shard;
  std::uint32_t bits;

  LiveBins(std::uint32_t k, std::uint32_t first, std::uint32_t end)
      : first_shard(first),
        end_shard(end),
        bits(std::min<std::uint32_t>(groups::bits_of(kMostBinsPerShard - 1),
                                     groups::GroupShape(k).rest_bits())) {}

  [[nodiscard]] std::uint32_t size() const { return (end_shard - first_shard) << bits; }
  [[nodiscard]] __device__ bool contains(std::uint32_t shard) const {
    return shard >= first_shard && shard < end_shard;
  }
  /// Returns the number of the bin of a k-mer whose key has so many bits.
  template <class Key>
  [[nodiscard]] __device__ std::uint32_t number(std::uint32_t shard, Key key, std::uint32_t key_bits) const {
    return (shard - first_shard) << bits | static_cast<std::uint32_t>(key >> (key_bits - bits));
  }
};

template <class Key>
class LiveEntries {
 public:
  virtual ~LiveEntries() = default;
  LiveEntries(const LiveEntries&) = delete;
  LiveEntries& operator=(const LiveEntries&) = delete;

  /// Enqueues counting the k-mers of each bin, which are added to `sizes`. No insertion or removal may run
  /// side by side with it, or with those that follow.
  virtual void count_bins(const LiveBins& bins, std::uint32_t* sizes, cudaStream_t stream) const = 0;
  /// Enqueues listing the k-mers of bins in any order, with their counts, those of a bin from `begins[bin]`
  /// on; `sizes` are 0 before.
  virtual void list_bins(const LiveBins& bins, const std::uint64_t* begins, std::uint32_t* sizes, Key* keys,
                         std::uint32_t* counts, cudaStream_t stream) const = 0;

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
