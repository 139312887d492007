#pragma once
/// The k-mers of a live table in the memory of a GPU: a slab hash (Ashkiani et al. 2018, table/slab_hash.h)
/// of the hashes of k-mers. Insertions, removals and questions of any k-mers run side by side, in any
/// streams; the table grows by slabs that SlabAlloc hands out in the kernels.

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/lookup/device_index.cuh"
#include "kernels/lookup/routed_runs.cuh"
#include "kernels/memory/device_memory.cuh"
#include "kernels/text/cut.cuh"
#include "kernels/warps/tile_cuda.cuh"
#include "kmer/kmer.h"
#include "table/bucket_choice.h"
#include "table/slab.h"
#include "table/slab_alloc.h"
#include "table/slab_hash.h"

namespace warpmer::gpu {

/// What is done to a k-mer.
enum class SlabAction : std::uint32_t { insert, remove, ask };

/// Answers of insertions and removals; questions are answered as DeviceIndex says.
enum SlabAnswer : std::uint32_t {
  kSlabRefused = 0,  ///< a removal: it is not there. An insertion: there is no slab for it
  kSlabDone = 1,
  kSlabTooMany = 2,  ///< an insertion: it has been counted kMostLiveCount times, and once more is too often
};

/// Counts have 32 bits, and are never taken to where they would wrap: so many tiles may add to one at once
/// before one of them sees that it is too large.
inline constexpr std::uint32_t kMostLiveCount = UINT32_MAX - (1u << 24);

/// The table as kernels see it.
template <class Key>
struct SlabsThere {
  using Slab = table::CountSlab<Key>;
  using Units = table::ContiguousUnits<Slab>;
  /// So many keys a lane, so that a warp serves eight k-mers at a time, or sixteen of 128 bits. (Measured on
  /// an H100, k = 31: 7.6 G insertions a second with one key a lane, 9.7 with two, 10.0 with four.)
  static constexpr int kKeysPerLane = 4;
  static constexpr int kLanes = table::kSlabBytes / sizeof(Key) / kKeysPerLane;
  using Tile = CudaTile<Key, kLanes, kKeysPerLane>;
  using Table = table::SlabHash<Tile, Units, table::HashedBucket<Key>>;

  Slab* bases;
  std::uint32_t buckets;
  std::uint32_t* bitmaps;
  Slab* units;
  std::uint64_t unit_count;
  table::SlabAllocState* state;
  std::uint32_t* empty_key_count;  ///< the count of the key that stands for empty slots

  [[nodiscard]] __device__ Table table() const {
    return {bases, table::HashedBucket<Key>(buckets, 0), {Units(bitmaps, units, unit_count), state}};
  }
};

/// A k-mer of a frozen shard, with its count.
template <class Key>
struct PlacedKmer {
  Key key;  ///< groups::GroupKeys
  std::uint64_t count;
};

template <class Key>
class LiveSlabs {
 public:
  using Slab = typename SlabsThere<Key>::Slab;

  /// Takes about so many bytes of the current device, half of them for base slabs. ResourceError when they
  /// cannot be had.
  LiveSlabs(std::uint64_t bytes, KmerParams kmers);

  /// Enqueues an action on all k-mers of a text, as DeviceIndex::look_up says.
  void serve_text(SlabAction action, const char* text, std::uint32_t bytes, std::uint32_t starts,
                  std::uint32_t* answers, CutStatus* status, cudaStream_t stream) const;
  /// Enqueues an action on hashes of k-mers: `counts[i]` times each, at least 1; null: once.
  void serve_keys(SlabAction action, const Key* keys, const std::uint32_t* counts, std::uint32_t size,
                  std::uint32_t* answers, cudaStream_t stream) const;

  /// Enqueues an action on the k-mers of a part of a text, whose answers come in the order that runs name.
  void serve_part(SlabAction action, const RoutedPart& part, std::uint32_t* answers,
                  cudaStream_t stream) const;

  /// Enqueues counting the k-mers of each shard, which are added to `sizes`, one for each shard. No insertion
  /// or removal may run side by side with it, or with the next.
  void count_shards(unsigned long long* sizes, cudaStream_t stream) const;
  /// Enqueues listing the k-mers of shards [first, end) in any order, those of a shard from `places[shard]`
  /// on; the places are moved to the shards' ends.
  void list_shards(std::uint32_t first, std::uint32_t end, unsigned long long* places, PlacedKmer<Key>* to,
                   cudaStream_t stream) const;

  /// Counts up to this are tallied on the device.
  static constexpr std::uint32_t kTallies = 1u << 16;
  /// Enqueues adding up how many k-mers have each count below kTallies, at `kmers[count]`, and, at
  /// `kmers[kTallies]`, how many have others. As the two before, not beside changes.
  void tally(unsigned long long* kmers, cudaStream_t stream) const;
  /// Enqueues listing the other counts in any order; `*size` is 0 before.
  void list_large(std::uint32_t* counts, std::uint32_t* size, cudaStream_t stream) const;

  [[nodiscard]] std::uint64_t bytes() const { return bases_.bytes() + units_.bytes() + bitmaps_.bytes(); }

 private:
  [[nodiscard]] SlabsThere<Key> there() const;

  KmerParams kmers_;
  DeviceArray<Slab> bases_, units_;
  DeviceArray<std::uint32_t> bitmaps_;
  DeviceArray<table::SlabAllocState> state_{1};
  DeviceArray<std::uint32_t> empty_key_count_{1};
};

extern template class LiveSlabs<Key64>;
extern template class LiveSlabs<Key128>;

}  // namespace warpmer::gpu
