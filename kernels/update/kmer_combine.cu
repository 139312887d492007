// Equal k-mers stand side by side, and the first of them sees to all. A block takes a tile of k-mers; what is
// left of it goes behind what is left of the tiles before. That is known when all tiles have been counted, so
// counts are added up twice: they are little beside what they are read from.

#include <cub/device/device_scan.cuh>

#include "kernels/memory/small_copy.cuh"
#include "kernels/update/kmer_combine.cuh"
#include "kernels/update/string_expand.cuh"
#include "kernels/warps/sorted_search.cuh"
#include "kernels/warps/warp_scan.cuh"

namespace warpmer::gpu {

namespace {

constexpr std::uint32_t kCombineThreads = 256;
constexpr std::uint32_t kRounds = 8, kTileKmers = kCombineThreads * kRounds, kTileWords = kTileKmers / 32;

template <class Key>
struct CombineTask {
  OrderedKmers<Key> kmers;
  const std::uint64_t* counts;
  /// For each tile and behind the last: how many are left of it, then of those before it.
  std::uint32_t* tile_begins;
  std::uint32_t* big_size;  ///< how many counts that are left do not fit 32 bits
  Key* left_keys;
  std::uint32_t* left_counts;
  std::uint64_t* wide;  ///< null if all fit
  std::uint32_t* shard_begins;
  ShortfallCounts* shortfall;
};

/// Returns what is left of the k-mers that are equal to one, the first of them in its shard, which ends with
/// `end`. `note(there, missing)` is told if that is not as much as is to be removed.
template <class Key, class Note>
__device__ std::uint64_t left_of(const CombineTask<Key>& task, std::uint32_t first, std::uint32_t end,
                                 Note&& note) {
  const Key key = task.kmers.key[first];
  std::uint64_t there = 0, removed = 0;
  for (std::uint32_t i = first; i < end && task.kmers.key[i] == key; ++i) {
    const std::uint32_t number = task.kmers.counts[i];
    const std::uint64_t count = task.counts[number & (kMostExpanded - 1)];
    if (number >> kInputBit == static_cast<std::uint32_t>(MergeInput::removed)) {
      removed += count;
    } else {
      there += count;  // no sum is larger than 2^64 - 1 (jobs/update_job)
    }
  }
  if (removed > there) note(there, removed - there);
  return there - min(there, removed);
}

/// A tile of k-mers, and the block that takes it.
template <class Key>
class CombinedTile {
 public:
  struct TileMemory {
    std::uint32_t kept[kTileWords];  ///< bit i: the tile's k-mer i is one of those that are left
    std::uint32_t kept_before[kTileWords];
    std::uint32_t all;
  };

  __device__ CombinedTile(const CombineTask<Key>& task, TileMemory& memory)
      : task_(task),
        memory_(memory),
        first_(blockIdx.x * kTileKmers),
        first_shard_(last_not_above(task.kmers.shard_begins, task.kmers.shards, first_)) {}

  /// Finds what is left of each k-mer: `left[round]`, 0 for those that are not the first of their like.
  template <class Note>
  __device__ void combine(std::uint64_t (&left)[kRounds], Note&& note) {
    const OrderedKmers<Key>& kmers = task_.kmers;
    std::uint32_t shard = first_shard_;
#pragma unroll
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      const std::uint32_t i = number_of(round);
      left[round] = 0;
      if (i < kmers.size) {
        while (kmers.shard_begins[shard + 1] <= i) ++shard;
        if (i == kmers.shard_begins[shard] || kmers.key[i - 1] != kmers.key[i])
          left[round] = left_of(task_, i, kmers.shard_begins[shard + 1], note);
      }
      const std::uint32_t kept = __ballot_sync(~0u, left[round] > 0);
      if (threadIdx.x % 32 == 0) memory_.kept[(i - first_) / 32] = kept;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
      static_assert(kTileWords == 64);
      const std::uint32_t low = __popc(memory_.kept[2 * threadIdx.x]),
                          both = low + __popc(memory_.kept[2 * threadIdx.x + 1]);
      const std::uint32_t up_to_here = warp_inclusive_sum(both);
      memory_.kept_before[2 * threadIdx.x] = up_to_here - both;
      memory_.kept_before[2 * threadIdx.x + 1] = up_to_here - both + low;
      if (threadIdx.x == 31) memory_.all = up_to_here;
    }
    __syncthreads();
  }
  [[nodiscard]] __device__ std::uint32_t number_of(std::uint32_t round) const {
    return first_ + round * kCombineThreads + threadIdx.x;
  }
  /// Returns how many of the tile are left.
  [[nodiscard]] __device__ std::uint32_t size() const { return memory_.all; }
  /// Returns how many are left before a k-mer of the tile, in all.
  [[nodiscard]] __device__ std::uint32_t place_of(std::uint32_t i) const {
    const std::uint32_t at = i - first_, bits = memory_.kept[at / 32] & ((1u << (at % 32)) - 1);
    return task_.tile_begins[blockIdx.x] + memory_.kept_before[at / 32] + __popc(bits);
  }
  /// Says where the shards that begin in the tile do so now.
  __device__ void place_shards() const {
    const std::uint32_t* begins = task_.kmers.shard_begins;
    for (std::uint32_t shard = threadIdx.x; shard <= task_.kmers.shards; shard += kCombineThreads) {
      if (begins[shard] >= first_ && begins[shard] - first_ < kTileKmers)
        task_.shard_begins[shard] = place_of(begins[shard]);
    }
  }

 private:
  const CombineTask<Key>& task_;
  TileMemory& memory_;
  std::uint32_t first_, first_shard_;
};

template <class Key>
__global__ __launch_bounds__(kCombineThreads) void count_left(const __grid_constant__ CombineTask<Key> task) {
  __shared__ typename CombinedTile<Key>::TileMemory memory;
  CombinedTile<Key> tile(task, memory);
  std::uint64_t left[kRounds];
  tile.combine(left, [](std::uint64_t, std::uint64_t) {});
  if (threadIdx.x == 0) task.tile_begins[blockIdx.x] = tile.size();
  std::uint32_t big = 0;
#pragma unroll
  for (const std::uint64_t count : left) big += count >= kBigCount ? 1 : 0;
  if (big > 0) atomicAdd(task.big_size, big);
}

template <class Key>
__global__ __launch_bounds__(kCombineThreads) void write_left(const __grid_constant__ CombineTask<Key> task) {
  __shared__ typename CombinedTile<Key>::TileMemory memory;
  __shared__ ShortfallCounts shortfall;
  if (threadIdx.x == 0) shortfall = {};
  __syncthreads();
  CombinedTile<Key> tile(task, memory);
  std::uint64_t left[kRounds];
  tile.combine(left, [&](std::uint64_t there, std::uint64_t missing) {
    atomicAdd(there == 0 ? &shortfall.absent_kmers : &shortfall.short_kmers, 1ull);
    atomicAdd(there == 0 ? &shortfall.absent_occurrences : &shortfall.short_occurrences,
              static_cast<unsigned long long>(missing));
  });
#pragma unroll
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    if (left[round] == 0) continue;
    const std::uint32_t i = tile.number_of(round), at = tile.place_of(i);
    task.left_keys[at] = task.kmers.key[i];
    task.left_counts[at] = left[round] < kBigCount ? static_cast<std::uint32_t>(left[round]) : kBigCount;
    if (task.wide != nullptr) task.wide[at] = left[round];
  }
  tile.place_shards();
  if (threadIdx.x != 0) return;
  if (shortfall.absent_kmers > 0) {
    atomicAdd(&task.shortfall->absent_kmers, shortfall.absent_kmers);
    atomicAdd(&task.shortfall->absent_occurrences, shortfall.absent_occurrences);
  }
  if (shortfall.short_kmers > 0) {
    atomicAdd(&task.shortfall->short_kmers, shortfall.short_kmers);
    atomicAdd(&task.shortfall->short_occurrences, shortfall.short_occurrences);
  }
}

}  // namespace

template <class Key>
KmerCombiner<Key>::KmerCombiner(cudaStream_t stream) {
  fill_bytes(shortfall_.data(), 0, 1, stream);
}

template <class Key>
OrderedKmers<Key> KmerCombiner<Key>::combine(const OrderedKmers<Key>& kmers, const std::uint64_t* counts,
                                             Key* left_keys, std::uint32_t* left_counts,
                                             cudaStream_t stream) {
  // There is a tile for the end of the last shard, too.
  const std::uint32_t tiles = kmers.size / kTileKmers + 1;
  make_room(tile_begins_, tiles + 1, stream);
  make_room(shard_begins_, kmers.shards + 1, stream);
  CombineTask<Key> task{kmers,       counts,  tile_begins_.data(),  big_size_.data(), left_keys,
                        left_counts, nullptr, shard_begins_.data(), shortfall_.data()};
  fill_bytes(tile_begins_.data() + tiles, 0, 1, stream);
  fill_bytes(big_size_.data(), 0, 1, stream);
  count_left<Key><<<tiles, kCombineThreads, 0, DriverLock::Shared(stream)>>>(task);
  scan_memory_.run("adding up what is left", stream, [&](void* memory, std::size_t& bytes, cudaStream_t in) {
    return cub::DeviceScan::ExclusiveSum(memory, bytes, tile_begins_.data(), tile_begins_.data(), tiles + 1,
                                         in);
  });
  copy_small(host_sizes_.data(), tile_begins_.data() + tiles, 1, stream);
  copy_small(host_sizes_.data() + 1, big_size_.data(), 1, stream);
  check(cudaStreamSynchronize(stream), "combining k-mers");
  const std::uint32_t left = host_sizes_[0];
  if (host_sizes_[1] > 0) {
    make_room(wide_, left, stream);
    task.wide = wide_.data();
  }
  write_left<Key><<<tiles, kCombineThreads, 0, DriverLock::Shared(stream)>>>(task);
  check_launch("combining k-mers");
  return {kmers.keys,   left_keys, left_counts, left,     task.shard_begins,
          kmers.shards, nullptr,   nullptr,     task.wide};
}

template <class Key>
backend::Shortfall KmerCombiner<Key>::shortfall(cudaStream_t stream) const {
  const PinnedArray<ShortfallCounts> counts(1);
  copy_to_host(counts.data(), shortfall_.data(), 1, stream);
  check(cudaStreamSynchronize(stream), "combining k-mers");
  return {counts[0].absent_kmers, counts[0].absent_occurrences, counts[0].short_kmers,
          counts[0].short_occurrences};
}

template class KmerCombiner<Key64>;
template class KmerCombiner<Key128>;

}  // namespace warpmer::gpu
