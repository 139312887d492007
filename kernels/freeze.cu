// A block freezes a shard: takes its entries, from all its lists, by ranges of hash that fit shared
// memory; puts a range in order (HashGraph: count, scan, place; then tiny sorts inside the buckets); and
// packs it, one output word a thread.

#include "freeze.cuh"

namespace warpmer::gpu {

namespace {

constexpr std::uint32_t kThreads = 256;
constexpr std::uint32_t kWarps = kThreads / 32;
constexpr std::uint32_t kCapacity = 4096;  ///< entries in shared memory
constexpr std::uint32_t kSortBits = 10;    ///< 2^kSortBits buckets to sort by
constexpr std::uint32_t kSortBuckets = 1u << kSortBits;

template <class Key>
struct Sorter {
  Key keys[kCapacity];
  std::uint32_t counts[kCapacity];
  std::uint16_t ranks[kCapacity];  ///< of an entry in its bucket
  std::uint16_t order[kCapacity];
  std::uint32_t buckets[kSortBuckets + 1];  ///< sizes, then offsets
  std::uint32_t range_sizes[kRanges];
  std::uint32_t size;
  std::uint32_t warp_sums[kWarps];
  std::uint32_t shard;
};

/// Hashes from `first` to `last`, both included, which lie in these ranges.
template <class Key>
struct Part {
  Key first, last;
  std::uint32_t first_range, last_range;
};

__device__ void or_word(unsigned long long* words, std::uint64_t at, std::uint64_t value) {
  if (value != 0) atomicOr(words + at, static_cast<unsigned long long>(value));
}

/// Puts a field of up to 128 bits where others are being put, too.
__device__ void or_bits(unsigned long long* words, std::uint64_t at, Key128 value) {
  const std::uint32_t shift = at % 64;
  const auto low = static_cast<std::uint64_t>(value), high = static_cast<std::uint64_t>(value >> 64);
  or_word(words, at / 64, low << shift);
  or_word(words, at / 64 + 1, (high << shift) | ((low >> 1) >> (63 - shift)));
  or_word(words, at / 64 + 2, (high >> 1) >> (63 - shift));
}

__device__ std::uint32_t bit_width(Key64 value) { return 64 - __clzll(static_cast<long long>(value)); }
__device__ std::uint32_t bit_width(Key128 value) {
  const auto high = static_cast<Key64>(value >> 64);
  return high != 0 ? 64 + bit_width(high) : bit_width(static_cast<Key64>(value));
}

/// The part of `value`, which begins at bit `at` (perhaps negative), that lies in a 64-bit word.
template <class Value>
__device__ std::uint64_t bits_in_word(Value value, int at) {
  if (at >= 64 || at <= -static_cast<int>(8 * sizeof(Value))) return 0;
  return at >= 0 ? static_cast<std::uint64_t>(value) << at : static_cast<std::uint64_t>(value >> -at);
}

template <class Key>
class ShardFreezer {
 public:
  __device__ ShardFreezer(const FreezeTask<Key>& task, Sorter<Key>& sorter)
      : task_(task), sorter_(sorter), lane_(threadIdx.x % 32), warp_(threadIdx.x / 32) {}

  __device__ void freeze(std::uint32_t number) {
    plan_ = task_.plans[number];
    if (plan_.shape.entries == 0) return;
    words_ = task_.output + plan_.first_word;
    first_list_ = (task_.first_shard + number) * task_.lists_per_shard;
    written_ = exceptions_ = 0;
    next_bucket_ = 0;
    measure_ranges();
    for (std::uint32_t range = 0; range < kRanges;) {
      std::uint32_t end = range, entries = 0;
      while (end < kRanges && entries + sorter_.range_sizes[end] <= kCapacity)
        entries += sorter_.range_sizes[end++];
      if (end > range) {
        if (entries > 0) pack({range_begin(range), range_begin(end) - 1, range, end - 1}, false);
        range = end;
      } else {
        pack_large_range(range);
        ++range;
      }
    }
    // Buckets behind the last entry.
    if (plan_.layout.offset_bits > 0) {
      for (std::uint64_t b = next_bucket_ + threadIdx.x; b <= std::uint64_t{1} << plan_.shape.bucket_bits;
           b += kThreads)
        or_bits(words_, b * plan_.layout.offset_bits, plan_.shape.entries);
    }
  }

 private:
  [[nodiscard]] __device__ std::uint32_t rest_of_range_bits() const { return 2 * task_.k - kRangeBits; }
  /// First hash of a range; that of range kRanges is the end of all (perhaps 0).
  [[nodiscard]] __device__ Key range_begin(std::uint32_t range) const {
    return Key{range} << rest_of_range_bits();
  }

  __device__ void measure_ranges() {
    __syncthreads();
    if (threadIdx.x < kRanges) sorter_.range_sizes[threadIdx.x] = 0;
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < task_.lists_per_shard * kRanges; i += kThreads) {
      const std::uint32_t* ranges = task_.counted.ranges_of(first_list_ + i / kRanges) + i % kRanges;
      if (const std::uint32_t n = ranges[1] - ranges[0]; n > 0)
        atomicAdd(&sorter_.range_sizes[i % kRanges], n);
    }
    __syncthreads();
  }

  /// A range of more entries than fit: part by part.
  __device__ void pack_large_range(std::uint32_t range) {
    std::uint32_t width = rest_of_range_bits();
    const Key begin = range_begin(range), last = begin + ((Key{1} << width) - 1);
    for (Key first = begin;;) {
      const Key end = first + ((Key{1} << width) - 1);
      if (!pack({first, end, range, range}, true)) {
        --width;  // one hash has one entry
        continue;
      }
      if (end == last) return;
      first = end + 1;
    }
  }

  /// Sorts and writes a part. False, and nothing is written, when it does not fit.
  __device__ bool pack(const Part<Key>& part, bool filter) {
    if (!collect(part, filter)) return false;
    order_entries();
    const std::uint32_t n = sorter_.size;
    if (n > 0) {
      if (plan_.layout.offset_bits > 0) write_offsets(n);
      write_entries(n);
      if (plan_.shape.exceptions > 0) write_exceptions(n);
      if (plan_.layout.offset_bits > 0) next_bucket_ = bucket_of(key(n - 1)) + 1;
      written_ += n;
    }
    __syncthreads();
    return true;
  }

  __device__ bool collect(const Part<Key>& part, bool filter) {
    for (std::uint32_t i = threadIdx.x; i <= kSortBuckets; i += kThreads) sorter_.buckets[i] = 0;
    if (threadIdx.x == 0) sorter_.size = 0;
    __syncthreads();
    const std::uint32_t span_bits = bit_width(part.last - part.first);
    const std::uint32_t shift = span_bits > kSortBits ? span_bits - kSortBits : 0;
    for (std::uint32_t l = warp_; l < task_.lists_per_shard; l += kWarps) {
      const std::uint32_t list = first_list_ + l;
      const std::uint32_t* ranges = task_.counted.ranges_of(list);
      const std::uint64_t begin = task_.counted.begins[list - task_.counted.first_list];
      const std::uint32_t end = ranges[part.last_range + 1];
      for (std::uint32_t i = ranges[part.first_range] + lane_; i - lane_ < end; i += 32) {
        Key hash{};
        bool taken = i < end;
        if (taken) {
          hash = task_.counted.keys[begin + i];
          if (filter) taken = hash >= part.first && hash <= part.last;
        }
        const std::uint32_t takers = __ballot_sync(~0u, taken);
        std::uint32_t at = 0;
        if (lane_ == 0) at = atomicAdd(&sorter_.size, __popc(takers));
        at = __shfl_sync(~0u, at, 0) + __popc(takers & ((1u << lane_) - 1));
        if (!taken || at >= kCapacity) continue;
        sorter_.keys[at] = hash;
        sorter_.counts[at] = task_.counted.counts[begin + i];
        const auto bucket = static_cast<std::uint32_t>((hash - part.first) >> shift);
        sorter_.ranks[at] = static_cast<std::uint16_t>(atomicAdd(&sorter_.buckets[bucket], 1u));
      }
    }
    first_ = part.first;
    shift_ = shift;
    __syncthreads();
    const bool fits = sorter_.size <= kCapacity;
    __syncthreads();
    return fits;
  }

  __device__ void order_entries() {
    scan_buckets();
    const std::uint32_t n = sorter_.size;
    for (std::uint32_t i = threadIdx.x; i < n; i += kThreads) {
      const auto bucket = static_cast<std::uint32_t>((sorter_.keys[i] - first_) >> shift_);
      sorter_.order[sorter_.buckets[bucket] + sorter_.ranks[i]] = static_cast<std::uint16_t>(i);
    }
    __syncthreads();
    for (std::uint32_t b = threadIdx.x; b < kSortBuckets; b += kThreads) {
      const std::uint32_t begin = sorter_.buckets[b], end = sorter_.buckets[b + 1];
      for (std::uint32_t i = begin + 1; i < end; ++i) {
        const std::uint16_t mine = sorter_.order[i];
        const Key hash = sorter_.keys[mine];
        std::uint32_t at = i;
        for (; at > begin && sorter_.keys[sorter_.order[at - 1]] > hash; --at)
          sorter_.order[at] = sorter_.order[at - 1];
        sorter_.order[at] = mine;
      }
    }
    __syncthreads();
  }

  /// Bucket sizes to offsets: each thread has four buckets.
  __device__ void scan_buckets() {
    constexpr std::uint32_t kEach = kSortBuckets / kThreads;
    std::uint32_t mine[kEach], sum = 0;
#pragma unroll
    for (std::uint32_t i = 0; i < kEach; ++i) {
      mine[i] = sum;
      sum += sorter_.buckets[threadIdx.x * kEach + i];
    }
    const std::uint32_t before = block_prefix(sum);
#pragma unroll
    for (std::uint32_t i = 0; i < kEach; ++i) sorter_.buckets[threadIdx.x * kEach + i] = before + mine[i];
    if (threadIdx.x == kThreads - 1) sorter_.buckets[kSortBuckets] = before + sum;
    __syncthreads();
  }

  /// Sum of what the lower threads give. Synchronises the block.
  __device__ std::uint32_t block_prefix(std::uint32_t mine) {
    std::uint32_t sum = mine;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const std::uint32_t other = __shfl_up_sync(~0u, sum, step);
      if (lane_ >= step) sum += other;
    }
    if (lane_ == 31) sorter_.warp_sums[warp_] = sum;
    __syncthreads();
    std::uint32_t before = 0;
    for (std::uint32_t w = 0; w < warp_; ++w) before += sorter_.warp_sums[w];
    __syncthreads();
    return before + sum - mine;
  }

  [[nodiscard]] __device__ Key key(std::uint32_t i) const { return sorter_.keys[sorter_.order[i]]; }
  [[nodiscard]] __device__ std::uint64_t count(std::uint32_t i) const {
    const std::uint32_t at = sorter_.order[i], count = sorter_.counts[at];
    if (count != kBigCount) return count;
    return task_.counted.big.find(sorter_.keys[at], first_list_, ~(task_.lists_per_shard - 1));
  }
  [[nodiscard]] __device__ std::uint64_t bucket_of(Key hash) const {
    return static_cast<std::uint64_t>(hash >> plan_.layout.rest_bits);
  }
  [[nodiscard]] __device__ std::uint64_t escape() const {
    return (std::uint64_t{1} << plan_.shape.count_bits) - 1;
  }
  [[nodiscard]] __device__ bool is_exception(std::uint64_t count) const { return count - 1 >= escape(); }

  /// The offset of a bucket is the number of the first entry in it or behind it.
  __device__ void write_offsets(std::uint32_t n) {
    for (std::uint32_t i = threadIdx.x; i < n; i += kThreads) {
      const std::uint64_t last = bucket_of(key(i));
      for (std::uint64_t b = i == 0 ? next_bucket_ : bucket_of(key(i - 1)) + 1; b <= last; ++b)
        or_bits(words_, b * plan_.layout.offset_bits, written_ + i);
    }
  }

  __device__ void write_entries(std::uint32_t n) {
    const int bits = static_cast<int>(plan_.layout.entry_bits);
    const std::uint64_t begin = written_ * plan_.layout.entry_bits;
    const int skipped = static_cast<int>(begin % 64), end = skipped + static_cast<int>(n) * bits;
    unsigned long long* out = words_ + plan_.layout.entries_at + begin / 64;
    const Key mask =
        plan_.layout.rest_bits >= kKeyBits<Key> ? ~Key{0} : (Key{1} << plan_.layout.rest_bits) - 1;
    const int last_word = (end - 1) / 64;
    for (int w = static_cast<int>(threadIdx.x); w <= last_word; w += kThreads) {
      int i = max(64 * w - skipped, 0) / bits;
      std::uint64_t word = 0;
      for (int at = i * bits + skipped - 64 * w; at < 64 && i < static_cast<int>(n); at += bits, ++i) {
        const std::uint64_t here = count(i);
        word |= bits_in_word(is_exception(here) ? escape() : here - 1, at);
        word |= bits_in_word(key(i) & mask, at + plan_.shape.count_bits);
      }
      // Neighbours share the first and the last word.
      if (w == 0 || w == last_word) {
        or_word(out, w, word);
      } else {
        out[w] = word;
      }
    }
  }

  __device__ void write_exceptions(std::uint32_t n) {
    for (std::uint32_t first = 0; first < n; first += kThreads) {
      const std::uint32_t i = first + threadIdx.x;
      const std::uint64_t here = i < n ? count(i) : 1;
      const bool exception = i < n && is_exception(here);
      const std::uint32_t before = block_prefix(exception ? 1 : 0);
      if (exception) {
        const Key128 field = (Key128{written_ + i} << plan_.shape.exception_bits) | here;
        or_bits(words_ + plan_.layout.exceptions_at, (exceptions_ + before) * plan_.layout.exception_bits,
                field);
      }
      exceptions_ += __syncthreads_count(exception ? 1 : 0);
    }
  }

  const FreezeTask<Key>& task_;
  Sorter<Key>& sorter_;
  std::uint32_t lane_, warp_;
  ShardPlan plan_{};
  unsigned long long* words_ = nullptr;
  std::uint32_t first_list_ = 0;
  std::uint64_t written_ = 0;      ///< entries
  std::uint64_t exceptions_ = 0;   ///< written
  std::uint64_t next_bucket_ = 0;  ///< whose offset is to be written next
  Key first_{};
  std::uint32_t shift_ = 0;
};

template <class Key>
__global__ __launch_bounds__(kThreads) void freeze_kernel(const __grid_constant__ FreezeTask<Key> task) {
  extern __shared__ __align__(16) char shared[];
  auto& sorter = *reinterpret_cast<Sorter<Key>*>(shared);
  ShardFreezer<Key> freezer(task, sorter);
  for (;;) {
    if (threadIdx.x == 0) sorter.shard = atomicAdd(task.next, 1u);
    __syncthreads();
    const std::uint32_t shard = sorter.shard;
    __syncthreads();
    if (shard >= task.shards) return;
    freezer.freeze(shard);
  }
}

}  // namespace

template <class Key>
void launch_freeze(const FreezeTask<Key>& task, cudaStream_t stream) {
  if (task.shards == 0) return;
  const int bytes = sizeof(Sorter<Key>);
  check(cudaFuncSetAttribute(freeze_kernel<Key>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
        "asking for shared memory");
  int device = 0, multiprocessors = 0, blocks = 0;
  check(cudaGetDevice(&device), "asking for the device");
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
        "asking for the device");
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, freeze_kernel<Key>, kThreads, bytes),
        "planning to freeze");
  fill_bytes(task.next, 0, 1, stream);
  const auto grid = min(task.shards, static_cast<std::uint32_t>(multiprocessors * max(blocks, 1)));
  freeze_kernel<Key><<<grid, kThreads, bytes, stream>>>(task);
  check_launch("freezing shards");
}

template void launch_freeze(const FreezeTask<Key64>&, cudaStream_t);
template void launch_freeze(const FreezeTask<Key128>&, cudaStream_t);

}  // namespace warpmer::gpu
