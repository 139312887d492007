// A segment is consecutive bins whose k-mers have a range of groups to themselves. A block puts a piece of a
// segment in order in shared memory: by buckets of keys (count, scan, place; HashGraph, Green 2019), twice: a
// bucket of the first kind is usually a group, and is divided into as many of the second kind as it has
// k-mers. Among the few of these each k-mer finds its rank. Nearly all segments are one piece. Those that are
// more, because one group has so many k-mers, are merged in passes: each k-mer finds its rank in the
// neighbouring run.

#include <algorithm>
#include <cub/device/device_scan.cuh>

#include "base/error.h"
#include "kernels/freeze/kmer_order.cuh"
#include "kernels/freeze/quick_place.cuh"
#include "kernels/warps/sorted_search.cuh"
#include "kernels/warps/warp_scan.cuh"

namespace warpmer::gpu {

namespace {

constexpr std::uint32_t kOrderThreads = 256;
constexpr std::uint32_t kSortThreads = 512;
/// K-mers that a thread sorts, and those of a piece: so many leave room for two blocks on a multiprocessor.
template <class Key>
struct SortSize {
  static constexpr std::uint32_t kEach = sizeof(Key) == 8 ? 8 : 4, kPiece = kSortThreads * kEach;
};
constexpr std::uint32_t kBucketBits = 13, kBuckets = 1u << kBucketBits;
/// Expected k-mers of a segment: more are one piece then, than with fuller ones.
constexpr double kUsualFill = 0.85;
constexpr std::uint32_t kMergeBlocks = 1056;

template <class Kmer, class Key>
struct OrderTask {
  groups::GroupKeys<Key, Key> keys;
  bool canonical;
  CountedView<Kmer> counted;
  std::uint32_t first_bin;  ///< of the first segment
  std::uint32_t bins_per_segment, segments, segments_per_shard;
  std::uint32_t first_shard;
  /// For each segment and behind the last: how many k-mers are before it, and in the upper half how many
  /// pieces.
  std::uint64_t* segment_begins;
  std::uint32_t* piece_segments;  ///< for each piece
  std::uint32_t* most_pieces;     ///< of a segment
  Key* sorted;
  std::uint32_t* counts;

  [[nodiscard]] __device__ std::uint32_t begin_of(std::uint32_t segment) const {
    return static_cast<std::uint32_t>(segment_begins[segment]);
  }
  [[nodiscard]] __device__ std::uint32_t first_piece(std::uint32_t segment) const {
    return static_cast<std::uint32_t>(segment_begins[segment] >> 32);
  }
  /// Return the memory of the counted k-mers, which takes keys when these have been read.
  [[nodiscard]] __device__ Key* other_keys() const { return reinterpret_cast<Key*>(counted.keys); }
  [[nodiscard]] __device__ std::uint32_t* other_counts() const { return counted.counts; }
};

template <class Kmer, class Key>
__global__ void measure_segments(const __grid_constant__ OrderTask<Kmer, Key> task) {
  const std::uint32_t segment = blockIdx.x * blockDim.x + threadIdx.x;
  if (segment > task.segments) return;
  std::uint64_t sum = 0;
  if (segment < task.segments) {
    const std::uint32_t first = task.first_bin - task.counted.first_bin + segment * task.bins_per_segment;
    for (std::uint32_t bin = 0; bin < task.bins_per_segment; ++bin) sum += task.counted.sizes[first + bin];
  }
  task.segment_begins[segment] = (sum + SortSize<Key>::kPiece - 1) / SortSize<Key>::kPiece << 32 | sum;
}

template <class Kmer, class Key>
__global__ void find_pieces(const __grid_constant__ OrderTask<Kmer, Key> task, std::uint32_t* shard_begins) {
  const std::uint32_t segment = blockIdx.x * blockDim.x + threadIdx.x;
  if (segment > task.segments) return;
  if (segment % task.segments_per_shard == 0)
    shard_begins[segment / task.segments_per_shard] = task.begin_of(segment);
  if (segment == task.segments) return;
  const std::uint32_t first = task.first_piece(segment), end = task.first_piece(segment + 1);
  for (std::uint32_t piece = first; piece < end; ++piece) task.piece_segments[piece] = segment;
  if (end - first > 1) atomicMax(task.most_pieces, end - first);
}

template <class Key>
struct KeySorter {
  Key keys[SortSize<Key>::kPiece];
  std::uint32_t counts[SortSize<Key>::kPiece];
  union {
    alignas(16) std::uint16_t buckets[kBuckets + 8];  ///< of the first kind: sizes, then begins
    /// Afterwards, for each k-mer, its bucket of the second kind.
    std::uint16_t divided_of[SortSize<Key>::kPiece];
  };
  alignas(16) std::uint16_t divided[SortSize<Key>::kPiece + 8];  ///< of the second kind
  std::uint32_t bin_ends[kMostBinsPerShard];  ///< k-mers of the segment up to the end of each bin
  std::uint32_t warp_sums[kSortThreads / 32];
};

/// Adds one to a number in shared memory, and returns what it was. No number gets to 2^16.
__device__ std::uint32_t count_one(std::uint16_t* numbers, std::uint32_t i) {
  const std::uint32_t shift = i % 2 * 16;
  return atomicAdd(reinterpret_cast<std::uint32_t*>(numbers) + i / 2, 1u << shift) >> shift & 0xFFFF;
}

/// Returns the sum of the values of the threads before this one. All of a block call it.
__device__ std::uint32_t sum_before(std::uint32_t mine, std::uint32_t* warp_sums) {
  const std::uint32_t up_to_here = warp_inclusive_sum(mine);
  if (threadIdx.x % 32 == 31) warp_sums[threadIdx.x / 32] = up_to_here;
  __syncthreads();
  std::uint32_t before = up_to_here - mine;
  for (std::uint32_t warp = 0; warp < threadIdx.x / 32; ++warp) before += warp_sums[warp];
  __syncthreads();
  return before;
}

/// Sets the sizes of n buckets to zero.
template <std::uint32_t n>
__device__ void clear_buckets(std::uint16_t* buckets) {
  static_assert(n % 8 == 0);
  for (std::uint32_t i = threadIdx.x; i < n / 8; i += kSortThreads)
    reinterpret_cast<uint4*>(buckets)[i] = {0, 0, 0, 0};
}

/// Turns the sizes of n buckets into where they begin, and puts the end behind them.
template <std::uint32_t n>
__device__ void scan_buckets(std::uint16_t* buckets, std::uint32_t* warp_sums) {
  constexpr std::uint32_t kMine = n / kSortThreads / 2;  // words of two
  static_assert(kMine % 2 == 0);
  auto* mine = reinterpret_cast<uint2*>(buckets) + threadIdx.x * (kMine / 2);
  uint2 sizes[kMine / 2];
  std::uint32_t both = 0;
#pragma unroll
  for (std::uint32_t i = 0; i < kMine / 2; ++i) {
    sizes[i] = mine[i];
    both += sizes[i].x + sizes[i].y;  // in both halves, with no carry
  }
  std::uint32_t at = sum_before((both & 0xFFFF) + (both >> 16), warp_sums);
  const auto begins = [&](std::uint32_t size) {
    const std::uint32_t second = at + (size & 0xFFFF), first = at;
    at = second + (size >> 16);
    return first | second << 16;
  };
#pragma unroll
  for (std::uint32_t i = 0; i < kMine / 2; ++i) {
    const std::uint32_t first = begins(sizes[i].x);
    mine[i] = {first, begins(sizes[i].y)};
  }
  if (threadIdx.x == kSortThreads - 1) buckets[n] = static_cast<std::uint16_t>(at);
}

/// The buckets of keys in a segment. Those of the first kind are by the group's id alone. One of the second
/// kind is a part of one of the first: the groups in it, their layers and the first bases of flanks are one
/// number, of whose limit `factor_` is the reciprocal.
template <class Key>
class KeyBuckets {
 public:
  /// Only the low `id_bits` bits of a group's id differ in a segment.
  __device__ KeyBuckets(const groups::GroupKeys<Key, Key>& keys, std::uint32_t id_bits)
      : layers_(keys.shape().flank_bases() + 1),
        layer_bits_(groups::bits_of(keys.shape().flank_bases())),
        flanks_bits_(2 * keys.shape().flank_bases()),
        low_id_bits_(id_bits - min(id_bits, kBucketBits)),
        first_bits_(min(flanks_bits_, kFirstBits)),
        factor_(UINT32_MAX / (layers_ << low_id_bits_ << first_bits_)) {}

  [[nodiscard]] __device__ std::uint32_t bucket_of(Key key) const {
    return static_cast<std::uint32_t>(key >> flanks_bits_) >> (layer_bits_ + low_id_bits_) & (kBuckets - 1);
  }
  /// Returns the bucket of the second kind, when that of the first kind is given.
  [[nodiscard]] __device__ std::uint32_t divided_of(Key key, std::uint32_t begin, std::uint32_t end) const {
    const auto high = static_cast<std::uint32_t>(key >> flanks_bits_);
    const std::uint32_t layer = high & ((1u << layer_bits_) - 1);
    const std::uint32_t id = high >> layer_bits_ & ((1u << low_id_bits_) - 1);
    const std::uint32_t first =
        static_cast<std::uint32_t>(key >> (flanks_bits_ - first_bits_)) & ((1u << first_bits_) - 1);
    const std::uint32_t part = (id * layers_ + layer) << first_bits_ | first;
    return begin + __umulhi(part * factor_, end - begin);
  }

 private:
  static constexpr std::uint32_t kFirstBits = 14;
  std::uint32_t layers_, layer_bits_, flanks_bits_, low_id_bits_, first_bits_, factor_;
};

template <class Kmer, class Key, OrderInput kInput>
__global__ __launch_bounds__(kSortThreads,
                             2) void sort_pieces(const __grid_constant__ OrderTask<Kmer, Key> task) {
  extern __shared__ __align__(16) char shared[];
  auto& sorter = *reinterpret_cast<KeySorter<Key>*>(shared);
  if (blockIdx.x >= task.first_piece(task.segments)) return;
  const std::uint32_t segment = task.piece_segments[blockIdx.x];
  const std::uint32_t begin = task.begin_of(segment);
  const std::uint32_t first = (blockIdx.x - task.first_piece(segment)) * SortSize<Key>::kPiece;
  const std::uint32_t n = min(task.begin_of(segment + 1) - begin - first, SortSize<Key>::kPiece);
  const std::uint32_t bin = task.first_bin - task.counted.first_bin + segment * task.bins_per_segment;
  const std::uint32_t size = threadIdx.x < task.bins_per_segment ? task.counted.sizes[bin + threadIdx.x] : 0;
  clear_buckets<kBuckets>(sorter.buckets);
  clear_buckets<SortSize<Key>::kPiece>(sorter.divided);
  const std::uint32_t bin_end = size + sum_before(size, sorter.warp_sums);
  if (threadIdx.x < kMostBinsPerShard) sorter.bin_ends[threadIdx.x] = bin_end;
  __syncthreads();

  const KeyBuckets<Key> buckets(
      task.keys, task.keys.shape().rest_bits() - (31 - __clz(static_cast<int>(task.segments_per_shard))));
  [[maybe_unused]] const QuickPlace<Kmer, Key> placing(task.keys, task.canonical);
#pragma unroll 1
  for (std::uint32_t i = threadIdx.x; i < n; i += kSortThreads) {
    // The first bin that ends behind this k-mer.
    std::uint32_t low = 0;
    for (std::uint32_t step = task.bins_per_segment / 2; step > 0; step /= 2)
      low += sorter.bin_ends[low + step - 1] <= first + i ? step : 0;
    const std::uint64_t from =
        task.counted.begins[bin + low] + (first + i - (low == 0 ? 0 : sorter.bin_ends[low - 1]));
    Key key;
    if constexpr (kInput == OrderInput::keys) {
      key = task.counted.keys[from];
    } else {
      key = placing(task.counted.keys[from]).key;
    }
    sorter.keys[i] = key;
    sorter.counts[i] = task.counted.counts[from];
    count_one(sorter.buckets, buckets.bucket_of(key));
  }
  __syncthreads();
  scan_buckets<kBuckets>(sorter.buckets, sorter.warp_sums);
  __syncthreads();
  Key keys[SortSize<Key>::kEach];
  std::uint32_t counts[SortSize<Key>::kEach], places[SortSize<Key>::kEach];
  const auto for_each = [&](auto&& visit) {
#pragma unroll
    for (std::uint32_t e = 0; e < SortSize<Key>::kEach; ++e) {
      if (threadIdx.x + e * kSortThreads < n) visit(e, threadIdx.x + e * kSortThreads);
    }
  };
  for_each([&](std::uint32_t e, std::uint32_t i) {
    keys[e] = sorter.keys[i];
    counts[e] = sorter.counts[i];
    const std::uint16_t* bucket = sorter.buckets + buckets.bucket_of(keys[e]);
    const std::uint32_t divided = buckets.divided_of(keys[e], bucket[0], bucket[1]);
    places[e] = divided | count_one(sorter.divided, divided) << 16;
  });
  __syncthreads();
  scan_buckets<SortSize<Key>::kPiece>(sorter.divided, sorter.warp_sums);
  __syncthreads();
  for_each([&](std::uint32_t e, std::uint32_t) {
    const std::uint32_t divided = places[e] & 0xFFFF, place = sorter.divided[divided] + (places[e] >> 16);
    sorter.keys[place] = keys[e];
    sorter.counts[place] = counts[e];
    sorter.divided_of[place] = static_cast<std::uint16_t>(divided);
  });
  __syncthreads();
  // Neighbouring threads have neighbouring k-mers now, whose buckets are as large.
  for (std::uint32_t i = threadIdx.x; i < n; i += kSortThreads) {
    const Key key = sorter.keys[i];
    const std::uint16_t* divided = sorter.divided + sorter.divided_of[i];
    std::uint32_t place = divided[0];
    const std::uint32_t end = divided[1];
    for (std::uint32_t j = place; j < end; ++j) {
      const Key other = sorter.keys[j];
      place += other < key || (kInput == OrderInput::keys && other == key && j < i) ? 1 : 0;
    }
    task.sorted[begin + first + place] = key;
    task.counts[begin + first + place] = sorter.counts[i];
  }
}

/// Merges runs of 2^pass pieces in pairs, from one memory to the other.
template <class Kmer, class Key>
__global__ __launch_bounds__(kOrderThreads) void merge_runs(const __grid_constant__ OrderTask<Kmer, Key> task,
                                                            std::uint32_t pass) {
  if (*task.most_pieces <= 1u << pass) return;
  const bool is_back = pass % 2 != 0;
  for (std::uint32_t number = blockIdx.x; number < task.first_piece(task.segments); number += gridDim.x) {
    const std::uint32_t segment = task.piece_segments[number], first_piece = task.first_piece(segment);
    if (task.first_piece(segment + 1) - first_piece <= 1u << pass) continue;
    const std::uint32_t begin = task.begin_of(segment), size = task.begin_of(segment + 1) - begin;
    const Key* from = (is_back ? task.other_keys() : task.sorted) + begin;
    const std::uint32_t* from_counts = (is_back ? task.other_counts() : task.counts) + begin;
    Key* to = (is_back ? task.sorted : task.other_keys()) + begin;
    std::uint32_t* to_counts = (is_back ? task.counts : task.other_counts()) + begin;
    const std::uint32_t piece = number - first_piece, run = piece >> pass;
    const auto begin_of = [&](std::uint32_t of) {
      return static_cast<std::uint32_t>(
          min((std::uint64_t{SortSize<Key>::kPiece} << pass) * of, std::uint64_t{size}));
    };
    const std::uint32_t run_begin = begin_of(run), pair_begin = begin_of(run & ~1u);
    const std::uint32_t other_begin = begin_of(run ^ 1u), other_end = begin_of((run ^ 1u) + 1);
    const std::uint32_t first = piece * SortSize<Key>::kPiece,
                        end = min(size - first, SortSize<Key>::kPiece) + first;
    for (std::uint32_t i = first + threadIdx.x; i < end; i += kOrderThreads) {
      const Key key = from[i];
      // Of equal keys those of the first run come first.
      const std::uint32_t before = (run % 2 == 0 ? lower_bound(from, other_begin, other_end, key)
                                                 : upper_bound(from, other_begin, other_end, key)) -
                                   other_begin;
      to[pair_begin + (i - run_begin) + before] = key;
      to_counts[pair_begin + (i - run_begin) + before] = from_counts[i];
    }
  }
}

/// Brings segments back that are in the other memory after their last pass.
template <class Kmer, class Key>
__global__ __launch_bounds__(kOrderThreads) void take_merged(
    const __grid_constant__ OrderTask<Kmer, Key> task) {
  if (*task.most_pieces < 2) return;
  for (std::uint32_t number = blockIdx.x; number < task.first_piece(task.segments); number += gridDim.x) {
    const std::uint32_t segment = task.piece_segments[number], first_piece = task.first_piece(segment);
    if (groups::bits_of(task.first_piece(segment + 1) - first_piece - 1) % 2 == 0) continue;
    const std::uint32_t first = task.begin_of(segment) + (number - first_piece) * SortSize<Key>::kPiece;
    const std::uint32_t end = min(first + SortSize<Key>::kPiece, task.begin_of(segment + 1));
    for (std::uint32_t i = first + threadIdx.x; i < end; i += kOrderThreads) {
      task.sorted[i] = task.other_keys()[i];
      task.counts[i] = task.other_counts()[i];
    }
  }
}

/// Finds the numbers of the k-mers whose counts are big.
template <class Kmer, class Key>
__global__ void find_big(const __grid_constant__ OrderTask<Kmer, Key> task, OrderedKmers<Key> kmers,
                         BigKmer* big) {
  const std::uint32_t n = min(*kmers.big_size, kMostBigCounts);
  const QuickPlace<Kmer, Key> placing(task.keys, task.canonical);
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const auto place = placing(task.counted.big.entries[i].key);
    const std::uint32_t shard = place.shard - task.first_shard;
    big[i] = {task.counted.big.entries[i].count, UINT32_MAX};
    if (shard >= kmers.shards) continue;
    const std::uint32_t end = kmers.shard_begins[shard + 1];
    const std::uint32_t at = lower_bound(kmers.key, kmers.shard_begins[shard], end, place.key);
    if (at < end && kmers.key[at] == place.key) big[i].number = at;
  }
}

/// Returns how many bins make a segment, a power of two.
template <class Key>
std::uint32_t segment_bins(double kmers_per_bin, std::uint32_t least, std::uint32_t most, bool are_ordered) {
  if (!are_ordered) return most;
  std::uint32_t bins = least;
  while (bins < most && 2 * bins * kmers_per_bin <= kUsualFill * SortSize<Key>::kPiece) bins *= 2;
  return bins;
}

}  // namespace

template <class Kmer, class Key, OrderInput kInput>
OrderedKmers<Key> GroupedOrder<Kmer, Key, kInput>::order(const CountedShards<Kmer>& shards,
                                                         cudaStream_t stream) {
  if (shards.entries >> 32 != 0) throw InternalError("2^32 and more k-mers of a chunk are to be frozen");
  const auto entries = static_cast<std::uint32_t>(shards.entries);
  const std::uint32_t bins = shards.shards * shards.bins_per_shard;
  OrderTask<Kmer, Key> task{keys_, canonical_, shards.counted};
  task.first_bin = shards.first_shard * shards.bins_per_shard;
  task.bins_per_segment = segment_bins<Key>(static_cast<double>(entries) / bins, shards.bins_per_part,
                                            shards.bins_per_shard, shards.bins_are_ordered);
  task.segments = bins / task.bins_per_segment;
  task.segments_per_shard = shards.bins_per_shard / task.bins_per_segment;
  task.first_shard = shards.first_shard;
  const std::uint32_t pieces = task.segments + entries / SortSize<Key>::kPiece;  // at most
  make_room(sorted_, entries, stream);
  make_room(counts_, entries, stream);
  make_room(segment_begins_, task.segments + 1, stream);
  make_room(piece_segments_, pieces, stream);
  make_room(shard_begins_, shards.shards + 1, stream);
  make_room(most_pieces_, 1, stream);
  if (kInput == OrderInput::hashes) make_room(big_, kMostBigCounts, stream);
  task.segment_begins = segment_begins_.data();
  task.piece_segments = piece_segments_.data();
  task.most_pieces = most_pieces_.data();
  task.sorted = sorted_.data();
  task.counts = counts_.data();
  fill_bytes(most_pieces_.data(), 0, 1, stream);
  const std::uint32_t segment_blocks = task.segments / kOrderThreads + 1;
  measure_segments<<<segment_blocks, kOrderThreads, 0, DriverLock::Shared(stream)>>>(task);
  scan_memory_.run("adding up bins", stream, [&](void* memory, std::size_t& bytes, cudaStream_t in) {
    return cub::DeviceScan::ExclusiveSum(memory, bytes, segment_begins_.data(), segment_begins_.data(),
                                         task.segments + 1, in);
  });
  find_pieces<<<segment_blocks, kOrderThreads, 0, DriverLock::Shared(stream)>>>(task, shard_begins_.data());
  constexpr int kBytes = sizeof(KeySorter<Key>);
  {
    const DriverLock::Shared use;
    check(cudaFuncSetAttribute(sort_pieces<Kmer, Key, kInput>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               kBytes),
          "asking for shared memory");
  }
  sort_pieces<Kmer, Key, kInput><<<pieces, kSortThreads, kBytes, DriverLock::Shared(stream)>>>(task);
  // Usually there is nothing to merge: then these should be over soon.
  const std::uint32_t mergers = std::min(pieces, kMergeBlocks);
  for (std::uint32_t pass = 0; entries / SortSize<Key>::kPiece >> pass > 0; ++pass)
    merge_runs<Kmer, Key><<<mergers, kOrderThreads, 0, DriverLock::Shared(stream)>>>(task, pass);
  take_merged<Kmer, Key><<<mergers, kOrderThreads, 0, DriverLock::Shared(stream)>>>(task);
  const OrderedKmers<Key> kmers{keys_,       sorted_.data(),         counts_.data(),
                                entries,     shard_begins_.data(),   shards.shards,
                                big_.data(), shards.counted.big.size};
  if constexpr (kInput == OrderInput::hashes)
    find_big<<<8, kOrderThreads, 0, DriverLock::Shared(stream)>>>(task, kmers, big_.data());
  check_launch("putting k-mers in order");
  return kmers;
}

template class GroupedOrder<Key64, Key64>;
template class GroupedOrder<Key128, Key64>;
template class GroupedOrder<Key128, Key128>;
template class GroupedOrder<Key64, Key64, OrderInput::keys>;
template class GroupedOrder<Key128, Key128, OrderInput::keys>;

}  // namespace warpmer::gpu
