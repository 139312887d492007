// HashGraphs on a GPU: the loops of Green 2019, Alg. 1 and 2, as kernels, and the grouping of buckets.

#include <algorithm>
#include <cub/block/block_scan.cuh>
#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_scan.cuh>

#include "kernels/memory/persistent_grid.cuh"
#include "kernels/tables/hash_graph.cuh"

namespace warpmer::gpu {

namespace {

using table::EntryRange;
using table::HashedBucket;

constexpr std::uint32_t kGraphBuildThreads = 256;

/// Bins of V2. The lines that they are written to at their ends must stay in the L2, and a block counts them
/// in shared memory. The counts of a bin's buckets are in shared memory, too, when it is finished: that is
/// why bins are smaller than a cache could hold.
constexpr std::uint32_t kMostBins = 8192;
constexpr std::uint32_t kBinEntries = 8192;
/// Entries a block puts into bins at once: as many as two for each bin when there are most of them.
constexpr std::uint32_t kSplitThreads = 512;
constexpr std::uint32_t kSplitPerThread = 32;
constexpr std::uint32_t kSplitTile = kSplitThreads * kSplitPerThread;
constexpr std::uint32_t kBinThreads = 1024;
/// Shared memory that finishing a bin needs beside its counts; more than enough.
constexpr std::size_t kScanBytes = 4096;

/// Atomics of counting and placing, where threads share counts.
struct AddOne {
  __device__ void operator()(std::uint32_t* count) const { atomicAdd(count, 1u); }
};
struct SubtractOne {
  __device__ std::uint32_t operator()(std::uint32_t* end) const { return atomicSub(end, 1u) - 1; }
};

__device__ inline std::size_t global_thread() { return std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ inline std::size_t all_threads() { return std::size_t{gridDim.x} * blockDim.x; }

__device__ inline std::uint32_t value_of(const std::uint32_t* values, std::size_t i) {
  return values == nullptr ? static_cast<std::uint32_t>(i) : values[i];
}

template <class Key>
__global__ void count_entries_kernel(const Key* keys, std::size_t n, HashedBucket<Key> bucket_of,
                                     std::uint32_t* counts) {
  for (std::size_t i = global_thread(); i < n; i += all_threads())
    table::count_entry(keys[i], bucket_of, counts, AddOne{});
}

template <class Key>
__global__ void place_entries_kernel(const Key* keys, const std::uint32_t* values, std::size_t n,
                                     HashedBucket<Key> bucket_of, std::uint32_t* ends, Key* keys_out,
                                     std::uint32_t* values_out) {
  for (std::size_t i = global_thread(); i < n; i += all_threads())
    table::place_entry(keys[i], value_of(values, i), bucket_of, ends, keys_out, values_out, SubtractOne{});
}

/// V2, first phase: entries by bin.
template <class Key>
__global__ void __launch_bounds__(kSplitThreads)
    count_bins_kernel(const Key* keys, std::size_t n, HashedBucket<Key> bucket_of, std::uint32_t shift,
                      std::uint32_t bins, std::uint32_t* sizes) {
  extern __shared__ std::uint32_t block_sizes[];
  for (std::uint32_t b = threadIdx.x; b < bins; b += kSplitThreads) block_sizes[b] = 0;
  __syncthreads();
  for (std::size_t i = global_thread(); i < n; i += all_threads())
    atomicAdd(&block_sizes[bucket_of(keys[i]) >> shift], 1u);
  __syncthreads();
  for (std::uint32_t b = threadIdx.x; b < bins; b += kSplitThreads) {
    if (block_sizes[b] > 0) atomicAdd(&sizes[b], block_sizes[b]);
  }
}

/// V2, second phase: a tile of entries at a time, each block finds room for all its entries of a bin at once.
template <class Key>
__global__ void __launch_bounds__(kSplitThreads)
    place_in_bins_kernel(const Key* keys, const std::uint32_t* values, std::size_t n,
                         HashedBucket<Key> bucket_of, std::uint32_t shift, std::uint32_t bins,
                         std::uint32_t* next, Key* keys_out, std::uint32_t* values_out) {
  extern __shared__ std::uint32_t block_sizes[];  // then where the block's entries of a bin begin
  for (std::size_t tile = std::size_t{blockIdx.x} * kSplitTile; tile < n;
       tile += std::size_t{gridDim.x} * kSplitTile) {
    for (std::uint32_t b = threadIdx.x; b < bins; b += kSplitThreads) block_sizes[b] = 0;
    __syncthreads();
    // Keys are read again, from the L2, instead of being kept: registers are for many entries on their way.
    std::uint32_t bin_and_rank[kSplitPerThread];
#pragma unroll
    for (std::uint32_t j = 0; j < kSplitPerThread; ++j) {
      const std::size_t i = tile + j * kSplitThreads + threadIdx.x;
      if (i >= n) continue;
      const std::uint32_t bin = bucket_of(keys[i]) >> shift;
      bin_and_rank[j] = bin * kSplitTile + atomicAdd(&block_sizes[bin], 1u);
    }
    __syncthreads();
    for (std::uint32_t b = threadIdx.x; b < bins; b += kSplitThreads) {
      if (block_sizes[b] > 0) block_sizes[b] = atomicAdd(&next[b], block_sizes[b]);
    }
    __syncthreads();
#pragma unroll
    for (std::uint32_t j = 0; j < kSplitPerThread; ++j) {
      const std::size_t i = tile + j * kSplitThreads + threadIdx.x;
      if (i >= n) continue;
      const std::uint32_t at = block_sizes[bin_and_rank[j] / kSplitTile] + bin_and_rank[j] % kSplitTile;
      keys_out[at] = keys[i];
      values_out[at] = value_of(values, i);
    }
    __syncthreads();
  }
}
static_assert(std::uint64_t{kMostBins} * kSplitTile <= UINT32_MAX);

/// Buckets numbered from the first of a bin.
template <class Key>
struct BucketInBin {
  HashedBucket<Key> bucket_of;
  std::uint32_t first;
  __device__ std::uint32_t operator()(Key key) const { return bucket_of(key) - first; }
};

/// V2, third phase: counting, summing up and placing, a block for each bin, with counts in shared memory.
/// `bin_ends`: where each bin's entries end. Dynamic shared memory: a count for each bucket of a bin.
template <class Key>
__global__ void __launch_bounds__(kBinThreads)
    finish_bins_kernel(const Key* keys, const std::uint32_t* values, const std::uint32_t* bin_ends,
                       HashedBucket<Key> bucket_of, std::uint32_t shift, std::uint32_t bins,
                       std::uint32_t* offsets, Key* keys_out, std::uint32_t* values_out) {
  using Scan = cub::BlockScan<std::uint32_t, kBinThreads>;
  __shared__ typename Scan::TempStorage scan_storage;
  extern __shared__ std::uint32_t ends[];
  for (std::uint32_t bin = blockIdx.x; bin < bins; bin += gridDim.x) {
    const BucketInBin<Key> bucket_in_bin{bucket_of, bin << shift};
    const std::uint32_t buckets = min(1u << shift, bucket_of.buckets() - bucket_in_bin.first);
    const EntryRange entries{bin == 0 ? 0 : bin_ends[bin - 1], bin_ends[bin]};
    for (std::uint32_t b = threadIdx.x; b < buckets; b += kBinThreads) ends[b] = 0;
    __syncthreads();
    for (std::uint64_t i = entries.first + threadIdx.x; i < entries.last; i += kBinThreads)
      table::count_entry(keys[i], bucket_in_bin, ends, AddOne{});
    __syncthreads();
    auto sum = static_cast<std::uint32_t>(entries.first);
    for (std::uint32_t tile = 0; tile < buckets; tile += kBinThreads) {
      const std::uint32_t b = tile + threadIdx.x;
      std::uint32_t end, tile_sum;
      Scan(scan_storage).InclusiveSum(b < buckets ? ends[b] : 0, end, tile_sum);
      if (b < buckets) ends[b] = sum + end;
      sum += tile_sum;
      __syncthreads();
    }
    for (std::uint64_t i = entries.first + threadIdx.x; i < entries.last; i += kBinThreads)
      table::place_entry(keys[i], values[i], bucket_in_bin, ends, keys_out, values_out, SubtractOne{});
    __syncthreads();
    for (std::uint32_t b = threadIdx.x; b < buckets; b += kBinThreads)
      offsets[bucket_in_bin.first + b] = ends[b];
    __syncthreads();
  }
}

/// Groups small buckets; of the others, tells how many entries they have (0 for small ones).
template <class Key>
__global__ void group_small_buckets_kernel(const std::uint32_t* offsets, std::uint32_t buckets, Key* keys,
                                           std::uint32_t* values, std::uint32_t* large_sizes,
                                           unsigned long long* large_entries) {
  for (std::size_t b = global_thread(); b < buckets; b += all_threads()) {
    const EntryRange bucket{offsets[b], offsets[b + 1]};
    const bool is_small = bucket.size() <= table::kSmallBucket;
    if (is_small) {
      table::group_small_bucket(bucket, keys, values);
    } else {
      atomicAdd(large_entries, static_cast<unsigned long long>(bucket.size()));
    }
    large_sizes[b] = is_small ? 0 : static_cast<std::uint32_t>(bucket.size());
  }
}

/// An entry of a large bucket, to be sorted with all others. The value is as wide as the key, so that no byte
/// of an entry is padding, which sorting would move without its ever having been written.
template <class Key>
struct LargeEntry {
  Key key;
  Key value;
};

template <class Key>
struct IsBefore {
  HashedBucket<Key> bucket_of;
  __device__ bool operator()(const LargeEntry<Key>& a, const LargeEntry<Key>& b) const {
    const std::uint32_t a_bucket = bucket_of(a.key), b_bucket = bucket_of(b.key);
    return a_bucket != b_bucket ? a_bucket < b_bucket : table::is_before(a.key, a.value, b.key, b.value);
  }
};

/// Moves the entries of large buckets, which begin at `begins` among them, out of the graph or back into it.
template <class Key, bool Back>
__global__ void move_large_buckets_kernel(const std::uint32_t* offsets, std::size_t n,
                                          HashedBucket<Key> bucket_of, const std::uint32_t* begins, Key* keys,
                                          std::uint32_t* values, LargeEntry<Key>* large) {
  for (std::size_t i = global_thread(); i < n; i += all_threads()) {
    // A key tells its bucket, also when it is not yet the one that belongs here.
    const std::uint32_t b = bucket_of(keys[i]);
    const std::uint32_t begin = offsets[b];
    if (offsets[b + 1] - begin <= table::kSmallBucket) continue;
    LargeEntry<Key>& entry = large[begins[b] + (static_cast<std::uint32_t>(i) - begin)];
    if constexpr (Back) {
      keys[i] = entry.key;
      values[i] = static_cast<std::uint32_t>(entry.value);
    } else {
      entry = {keys[i], values[i]};
    }
  }
}

template <class Key>
class DeviceHashGraphBuilder {
 public:
  DeviceHashGraphBuilder(const Key* keys, const std::uint32_t* values, std::size_t n,
                         const HashedBucket<Key>& bucket_of, cudaStream_t stream)
      : keys_(keys),
        values_(values),
        n_(n),
        stream_(stream),
        buckets_(bucket_of.buckets()),
        graph_{bucket_of, {}, {}, {}, false} {
    if (n > UINT32_MAX) throw ResourceError("a HashGraph holds up to 4294967295 entries; split the input");
    graph_.offsets = DeviceArray<std::uint32_t>(std::size_t{buckets_} + 1);
    graph_.keys = DeviceArray<Key>(n);
    graph_.values = DeviceArray<std::uint32_t>(n);
    // Where there are no entries, that is all.
    if (n == 0) fill_bytes(graph_.offsets.data(), 0, buckets_, stream_);
    const auto entries = static_cast<std::uint32_t>(n);
    copy_to_device(graph_.offsets.data() + buckets_, &entries, 1, stream_);
  }

  DeviceHashGraph<Key> build(table::HashGraphVersion version, bool group, std::uint32_t bins) {
    if (n_ > 0 && version == table::HashGraphVersion::v1) {
      count_and_place(keys_, values_);
    } else if (n_ > 0) {
      split(bins);
    }
    if (n_ > 0 && group) this->group();
    graph_.grouped = group;
    wait();
    return std::move(graph_);
  }

 private:
  void wait() const { check(cudaStreamSynchronize(stream_), "building a HashGraph"); }

  template <class... Parameters, class... Arguments>
  void launch(const char* name, void (*kernel)(Parameters...), std::uint32_t threads, std::size_t bytes,
              std::uint64_t blocks, Arguments... arguments) {
    const auto grid =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(persistent_grid(kernel, threads, bytes), blocks));
    kernel<<<grid, threads, bytes, DriverLock::Shared(stream_)>>>(arguments...);
    check_launch(name);
  }

  /// Exclusive sums of n numbers, or inclusive ones, in place.
  template <bool Inclusive>
  void scan(std::uint32_t* numbers, std::size_t n) {
    const auto run = [&](void* scratch, std::size_t& bytes) {
      if constexpr (Inclusive) {
        return cub::DeviceScan::InclusiveSum(scratch, bytes, numbers, numbers, n,
                                             DriverLock::Shared(stream_));
      } else {
        return cub::DeviceScan::ExclusiveSum(scratch, bytes, numbers, numbers, n,
                                             DriverLock::Shared(stream_));
      }
    };
    std::size_t bytes = 0;
    check(run(nullptr, bytes), "planning a scan");
    DeviceArray<unsigned char> scratch(std::max<std::size_t>(bytes, 1));
    check(run(scratch.data(), bytes), "summing up a HashGraph's counts");
    wait();  // the scratch goes
  }

  /// All of V1, and the third phase of V2 where a bin has too many buckets for shared memory.
  void count_and_place(const Key* keys, const std::uint32_t* values) {
    std::uint32_t* offsets = graph_.offsets.data();
    fill_bytes(offsets, 0, buckets_, stream_);
    launch("counting entries", count_entries_kernel<Key>, kGraphBuildThreads, 0,
           blocks_of(n_, kGraphBuildThreads), keys, n_, graph_.bucket_of, offsets);
    scan<true>(offsets, buckets_);
    launch("placing entries", place_entries_kernel<Key>, kGraphBuildThreads, 0,
           blocks_of(n_, kGraphBuildThreads), keys, values, n_, graph_.bucket_of, offsets, graph_.keys.data(),
           graph_.values.data());
  }

  void split(std::uint32_t asked) {
    const auto wanted = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(asked != 0 ? asked : std::max<std::uint64_t>(n_, buckets_) / kBinEntries, 1,
                                  std::min(buckets_, kMostBins)));
    std::uint32_t shift = 0;
    while (((buckets_ - 1) >> shift) + 1 > wanted) ++shift;
    const std::uint32_t bins = ((buckets_ - 1) >> shift) + 1;
    const std::size_t bytes = bins * sizeof(std::uint32_t);
    DeviceArray<std::uint32_t> next(bins);
    DeviceArray<Key> keys(n_);
    DeviceArray<std::uint32_t> values(n_);
    fill_bytes(next.data(), 0, bins, stream_);
    launch("counting bins", count_bins_kernel<Key>, kSplitThreads, bytes, blocks_of(n_, kSplitThreads), keys_,
           n_, graph_.bucket_of, shift, bins, next.data());
    scan<false>(next.data(), bins);
    launch("placing entries in bins", place_in_bins_kernel<Key>, kSplitThreads, bytes,
           blocks_of(n_, kSplitTile), keys_, values_, n_, graph_.bucket_of, shift, bins, next.data(),
           keys.data(), values.data());
    const std::size_t counts = sizeof(std::uint32_t) << shift;
    if (counts + kScanBytes <= shared_limit()) {
      launch("finishing bins", finish_bins_kernel<Key>, kBinThreads, counts, bins, keys.data(), values.data(),
             next.data(), graph_.bucket_of, shift, bins, graph_.offsets.data(), graph_.keys.data(),
             graph_.values.data());
    } else {
      count_and_place(keys.data(), values.data());
    }
    wait();  // the bins go
  }

  void group() {
    DeviceArray<std::uint32_t> begins(buckets_);
    DeviceArray<unsigned long long> large_entries(1);
    fill_bytes(large_entries.data(), 0, 1, stream_);
    launch("grouping small buckets", group_small_buckets_kernel<Key>, kGraphBuildThreads, 0,
           blocks_of(buckets_, kGraphBuildThreads), graph_.offsets.data(), buckets_, graph_.keys.data(),
           graph_.values.data(), begins.data(), large_entries.data());
    unsigned long long entries = 0;
    copy_to_host(&entries, large_entries.data(), 1, stream_);
    wait();
    if (entries > 0) group_large(begins.data(), static_cast<std::size_t>(entries));
  }

  /// All large buckets together: sorted as one list, because one bucket may hold nearly everything.
  void group_large(std::uint32_t* begins, std::size_t entries) {
    scan<false>(begins, buckets_);
    DeviceArray<LargeEntry<Key>> large(entries);
    launch("taking large buckets", move_large_buckets_kernel<Key, false>, kGraphBuildThreads, 0,
           blocks_of(n_, kGraphBuildThreads), graph_.offsets.data(), n_, graph_.bucket_of, begins,
           graph_.keys.data(), graph_.values.data(), large.data());
    const IsBefore<Key> is_before{graph_.bucket_of};
    std::size_t bytes = 0;
    check(cub::DeviceMergeSort::SortKeys(nullptr, bytes, large.data(), entries, is_before,
                                         DriverLock::Shared(stream_)),
          "planning a sort");
    DeviceArray<unsigned char> scratch(std::max<std::size_t>(bytes, 1));
    check(cub::DeviceMergeSort::SortKeys(scratch.data(), bytes, large.data(), entries, is_before,
                                         DriverLock::Shared(stream_)),
          "grouping large buckets");
    launch("putting large buckets back", move_large_buckets_kernel<Key, true>, kGraphBuildThreads, 0,
           blocks_of(n_, kGraphBuildThreads), graph_.offsets.data(), n_, graph_.bucket_of, begins,
           graph_.keys.data(), graph_.values.data(), large.data());
    wait();
  }

  const Key* keys_;
  const std::uint32_t* values_;
  std::size_t n_;
  cudaStream_t stream_;
  std::uint32_t buckets_;
  DeviceHashGraph<Key> graph_;
};

}  // namespace

template <class Key>
DeviceHashGraph<Key> build_hash_graph(const Key* keys, const std::uint32_t* values, std::size_t n,
                                      const table::HashedBucket<Key>& bucket_of,
                                      table::HashGraphVersion version, bool group, cudaStream_t stream,
                                      std::uint32_t bins) {
  return DeviceHashGraphBuilder<Key>(keys, values, n, bucket_of, stream).build(version, group, bins);
}

template DeviceHashGraph<std::uint32_t> build_hash_graph(const std::uint32_t*, const std::uint32_t*,
                                                         std::size_t,
                                                         const table::HashedBucket<std::uint32_t>&,
                                                         table::HashGraphVersion, bool, cudaStream_t,
                                                         std::uint32_t);
template DeviceHashGraph<Key64> build_hash_graph(const Key64*, const std::uint32_t*, std::size_t,
                                                 const table::HashedBucket<Key64>&, table::HashGraphVersion,
                                                 bool, cudaStream_t, std::uint32_t);
template DeviceHashGraph<Key128> build_hash_graph(const Key128*, const std::uint32_t*, std::size_t,
                                                  const table::HashedBucket<Key128>&, table::HashGraphVersion,
                                                  bool, cudaStream_t, std::uint32_t);

}  // namespace warpmer::gpu
