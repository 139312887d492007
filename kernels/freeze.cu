// A block freezes a shard: takes its entries, from all its lists, by parts of the hash range that fit shared
// memory; puts a part in order (HashGraph, Green 2019: count, scan, place; then each entry finds its rank
// among the few of its bucket); and packs it, one output word a thread.

#include "freeze.cuh"

namespace warpmer::gpu {

namespace {

constexpr std::uint32_t kThreads = 256;
constexpr std::uint32_t kWarps = kThreads / 32;
constexpr std::uint32_t kEach = 4;  ///< entries of a thread
constexpr std::uint32_t kCapacity = kThreads * kEach;
constexpr std::uint32_t kMostBuckets = 512;
static_assert(kMostBuckets % kThreads == 0);

template <class Key>
struct Sorter {
  Key keys[kCapacity], placed_keys[kCapacity];  ///< in order; by bucket
  std::uint32_t counts[kCapacity], placed_counts[kCapacity];
  std::uint32_t buckets[kMostBuckets + 1];  ///< sizes, then offsets
  std::uint64_t list_begins[kThreads];      ///< of a part's entries in each list
  std::uint32_t list_ends[kThreads];        ///< and how many they are up to there
  std::uint32_t range_sizes[kRanges];
  std::uint32_t size;
  std::uint32_t warp_sums[kWarps];
  ShardPlan plan;  ///< of the shard at work; too large for registers
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

/// The part of `value`, which begins at bit `at` (perhaps negative), that lies in a 64-bit word.
template <class Value>
__device__ std::uint64_t bits_in_word(Value value, int at) {
  if (at >= 64 || at <= -static_cast<int>(8 * sizeof(Value))) return 0;
  return at >= 0 ? static_cast<std::uint64_t>(value) << at : static_cast<std::uint64_t>(value >> -at);
}

/// Packs n fields of `bits` bits from the `first`-th on, one word a thread. `bits_of(i, at)` gives the bits
/// of the i-th that lie in a word in which it begins at bit `at`. Whole block.
template <class BitsOf>
__device__ void pack_fields(unsigned long long* words, std::uint64_t first, std::uint32_t n,
                            std::uint32_t bits, BitsOf&& bits_of) {
  const std::uint64_t begin = first * bits;
  const int width = static_cast<int>(bits), skipped = static_cast<int>(begin % 64);
  const int last_word = (skipped + static_cast<int>(n) * width - 1) / 64;
  for (int w = static_cast<int>(threadIdx.x); w <= last_word; w += kThreads) {
    auto i = static_cast<std::uint32_t>(max(64 * w - skipped, 0)) / bits;
    std::uint64_t word = 0;
    for (int at = static_cast<int>(i) * width + skipped - 64 * w; at < 64 && i < n; at += width, ++i)
      word |= bits_of(i, at);
    // Neighbours have a share in the first and the last word.
    if (w == 0 || w == last_word) {
      or_word(words, begin / 64 + w, word);
    } else {
      words[begin / 64 + w] = word;
    }
  }
}

template <class Key>
class ShardFreezer {
 public:
  __device__ ShardFreezer(const FreezeTask<Key>& task, Sorter<Key>& sorter)
      : task_(task), sorter_(sorter), lane_(threadIdx.x % 32), warp_(threadIdx.x / 32) {}

  __device__ void freeze(std::uint32_t number) {
    if (threadIdx.x == 0) sorter_.plan = task_.plans[number];
    __syncthreads();
    if (plan().shape.entries == 0) return;
    words_ = task_.output + plan().first_word;
    first_list_ = (task_.first_shard + number) * task_.lists_per_shard;
    written_ = exceptions_ = next_bucket_ = 0;
    measure_ranges();
    // Whole ranges are whole buckets, too, or all of them together are.
    const std::uint32_t range_buckets =
        plan().shape.bucket_bits > kRangeBits ? 1u << (plan().shape.bucket_bits - kRangeBits) : 1;
    for (std::uint32_t range = 0; range < kRanges;) {
      std::uint32_t end = range, entries = 0, buckets = 0;
      while (end < kRanges && entries + sorter_.range_sizes[end] <= kCapacity &&
             buckets + range_buckets <= kMostBuckets) {
        entries += sorter_.range_sizes[end++];
        buckets += range_buckets;
      }
      const bool aligned = plan().shape.bucket_bits >= kRangeBits || end - range == kRanges;
      if (end > range && aligned) {
        pack_ranges(range, end);
        range = end;
      } else {
        pack_large_range(range);
        ++range;
      }
    }
    // Buckets behind the last entry, and the end.
    if (plan().layout.offset_bits > 0) {
      for (std::uint64_t b = next_bucket_ + threadIdx.x; b <= std::uint64_t{1} << plan().shape.bucket_bits;
           b += kThreads)
        or_bits(words_, b * plan().layout.offset_bits, plan().shape.entries);
    }
  }

 private:
  /// A thread's entries, on their way to their places.
  struct Entries {
    Key keys[kEach];
    std::uint32_t counts[kEach];
  };

  [[nodiscard]] __device__ const ShardPlan& plan() const { return sorter_.plan; }
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

  /// Sorts by the buckets of the index, so that the scan over them gives their offsets.
  __device__ void pack_ranges(std::uint32_t range, std::uint32_t end) {
    const Part<Key> part{range_begin(range), range_begin(end) - 1, range, end - 1};
    const std::uint32_t n = locate_lists(part);
    Entries entries;
    load(n, entries);
    const std::uint32_t shift = plan().shape.bucket_bits == 0 ? 2 * task_.k - 1 : plan().layout.rest_bits;
    const auto buckets = static_cast<std::uint32_t>((part.last - part.first) >> shift) + 1;
    sort(entries, n, part.first, shift);
    if (plan().layout.offset_bits > 0) {
      const std::uint64_t base = written_;
      pack_fields(words_, next_bucket_, buckets, plan().layout.offset_bits,
                  [&](std::uint32_t b, int at) { return bits_in_word(base + sorter_.buckets[b], at); });
      next_bucket_ += buckets;
    }
    write(n);
  }

  /// A range of more entries than fit, or that is less than a bucket: part by part.
  __device__ void pack_large_range(std::uint32_t range) {
    std::uint32_t width = rest_of_range_bits();
    const Key begin = range_begin(range), last = begin + ((Key{1} << width) - 1);
    for (Key first = begin;;) {
      const Key end = first + ((Key{1} << width) - 1);
      Entries entries;
      const std::uint32_t n = load_some({first, end, range, range}, entries);
      if (n > kCapacity) {
        --width;  // one hash has one entry
        continue;
      }
      sort(entries, n, first, width > 8 ? width - 8 : 0);
      if (plan().layout.offset_bits > 0) write_offsets(n);
      write(n);
      if (end == last) break;
      first = end + 1;
    }
    if (plan().layout.offset_bits == 0) return;
    // Buckets between the range's last entry and the next range.
    const std::uint64_t next = bucket_of(last) + 1;
    for (std::uint64_t b = next_bucket_ + threadIdx.x; b < next; b += kThreads)
      or_bits(words_, b * plan().layout.offset_bits, written_);
    next_bucket_ = next;
  }

  /// Where each list's entries of a part are: `list_ends` and `list_begins`. Returns how many they are.
  __device__ std::uint32_t locate_lists(const Part<Key>& part) {
    // A list for each thread; there are never more lists than threads.
    std::uint32_t n = 0;
    if (threadIdx.x < task_.lists_per_shard) {
      const std::uint32_t list = first_list_ + threadIdx.x;
      const std::uint32_t* ranges = task_.counted.ranges_of(list);
      const std::uint32_t begin = ranges[part.first_range];
      n = ranges[part.last_range + 1] - begin;
      sorter_.list_begins[threadIdx.x] = task_.counted.begins[list - task_.counted.first_list] + begin;
    }
    const std::uint32_t before = block_prefix(n);
    sorter_.list_ends[threadIdx.x] = before + n;
    __syncthreads();
    return sorter_.list_ends[kThreads - 1];
  }

  /// Number in the arrays of the i-th of these entries.
  [[nodiscard]] __device__ std::uint64_t entry_at(std::uint32_t i) const {
    std::uint32_t low = 0, high = task_.lists_per_shard - 1;
    while (low < high) {
      const std::uint32_t middle = (low + high) / 2;
      if (sorter_.list_ends[middle] <= i) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return sorter_.list_begins[low] + (i - (low == 0 ? 0 : sorter_.list_ends[low - 1]));
  }

  /// Loads n entries, all loads under way at once.
  __device__ void load(std::uint32_t n, Entries& entries) const {
#pragma unroll
    for (std::uint32_t e = 0; e < kEach; ++e) {
      const std::uint32_t i = threadIdx.x + e * kThreads;
      if (i >= n) continue;
      const std::uint64_t from = entry_at(i);
      entries.keys[e] = task_.counted.keys[from];
      entries.counts[e] = task_.counted.counts[from];
    }
  }

  /// Loads those entries of a range that lie in the part. Returns their number; if that is more than the
  /// capacity, nothing is loaded.
  __device__ std::uint32_t load_some(const Part<Key>& part, Entries& entries) {
    if (threadIdx.x == 0) sorter_.size = 0;
    const std::uint32_t candidates = locate_lists(part);
    for (std::uint32_t i = threadIdx.x; i < candidates; i += kThreads) {
      const std::uint64_t from = entry_at(i);
      const Key hash = task_.counted.keys[from];
      if (hash < part.first || hash > part.last) continue;
      const std::uint32_t at = atomicAdd(&sorter_.size, 1u);
      if (at >= kCapacity) continue;
      sorter_.keys[at] = hash;
      sorter_.counts[at] = task_.counted.counts[from];
    }
    __syncthreads();
    const std::uint32_t n = sorter_.size;
#pragma unroll
    for (std::uint32_t e = 0; e < kEach; ++e) {
      const std::uint32_t i = threadIdx.x + e * kThreads;
      if (i >= n) continue;
      entries.keys[e] = sorter_.keys[i];
      entries.counts[e] = sorter_.counts[i];
    }
    __syncthreads();
    return n;
  }

  /// Puts n entries in order into `keys` and `counts`; a bucket is what `(hash - first) >> shift` says.
  __device__ void sort(Entries& entries, std::uint32_t n, Key first, std::uint32_t shift) {
    const auto bucket_of_entry = [&](Key hash) {
      return static_cast<std::uint32_t>((hash - first) >> shift);
    };
    for (std::uint32_t i = threadIdx.x; i <= kMostBuckets; i += kThreads) sorter_.buckets[i] = 0;
    __syncthreads();
    std::uint32_t places[kEach];
#pragma unroll
    for (std::uint32_t e = 0; e < kEach; ++e) {
      if (threadIdx.x + e * kThreads < n)
        places[e] = atomicAdd(&sorter_.buckets[bucket_of_entry(entries.keys[e])], 1u);
    }
    __syncthreads();
    scan_buckets();
#pragma unroll
    for (std::uint32_t e = 0; e < kEach; ++e) {
      if (threadIdx.x + e * kThreads >= n) continue;
      const std::uint32_t at = sorter_.buckets[bucket_of_entry(entries.keys[e])] + places[e];
      sorter_.placed_keys[at] = entries.keys[e];
      sorter_.placed_counts[at] = entries.counts[e];
    }
    __syncthreads();
    // By bucket now. An entry's place in its bucket is the number of smaller ones there.
    for (std::uint32_t i = threadIdx.x; i < n; i += kThreads) {
      const Key hash = sorter_.placed_keys[i];
      const std::uint32_t bucket = bucket_of_entry(hash), end = sorter_.buckets[bucket + 1];
      std::uint32_t place = sorter_.buckets[bucket];
      for (std::uint32_t j = place; j < end; ++j) place += sorter_.placed_keys[j] < hash ? 1 : 0;
      sorter_.keys[place] = hash;
      sorter_.counts[place] = sorter_.placed_counts[i];
    }
    __syncthreads();
  }

  /// Bucket sizes to offsets; each thread has some neighbours.
  __device__ void scan_buckets() {
    constexpr std::uint32_t kBucketsEach = kMostBuckets / kThreads;
    std::uint32_t mine[kBucketsEach], sum = 0;
#pragma unroll
    for (std::uint32_t i = 0; i < kBucketsEach; ++i) {
      mine[i] = sum;
      sum += sorter_.buckets[threadIdx.x * kBucketsEach + i];
    }
    const std::uint32_t before = block_prefix(sum);
#pragma unroll
    for (std::uint32_t i = 0; i < kBucketsEach; ++i)
      sorter_.buckets[threadIdx.x * kBucketsEach + i] = before + mine[i];
    if (threadIdx.x == kThreads - 1) sorter_.buckets[kMostBuckets] = before + sum;
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
#pragma unroll
    for (std::uint32_t w = 0; w < kWarps; ++w) before += w < warp_ ? sorter_.warp_sums[w] : 0;
    __syncthreads();
    return before + sum - mine;
  }

  [[nodiscard]] __device__ std::uint64_t count(std::uint32_t i) const {
    const std::uint32_t count = sorter_.counts[i];
    if (count != kBigCount) return count;
    return task_.counted.big.find(sorter_.keys[i], first_list_, ~(task_.lists_per_shard - 1));
  }
  [[nodiscard]] __device__ std::uint64_t bucket_of(Key hash) const {
    return static_cast<std::uint64_t>(hash >> plan().layout.rest_bits);
  }
  [[nodiscard]] __device__ std::uint64_t escape() const {
    return (std::uint64_t{1} << plan().shape.count_bits) - 1;
  }
  [[nodiscard]] __device__ bool is_exception(std::uint64_t count) const { return count - 1 >= escape(); }

  /// Of parts that are no whole buckets: the offset of a bucket is the number of the first entry in it or
  /// behind it.
  __device__ void write_offsets(std::uint32_t n) {
    for (std::uint32_t i = threadIdx.x; i < n; i += kThreads) {
      const std::uint64_t last = bucket_of(sorter_.keys[i]);
      for (std::uint64_t b = i == 0 ? next_bucket_ : bucket_of(sorter_.keys[i - 1]) + 1; b <= last; ++b)
        or_bits(words_, b * plan().layout.offset_bits, written_ + i);
    }
    if (n > 0) next_bucket_ = bucket_of(sorter_.keys[n - 1]) + 1;
  }

  /// Packs the n entries in order.
  __device__ void write(std::uint32_t n) {
    if (n > 0) {
      if (sizeof(Key) == 8 && plan().layout.entry_bits <= 64 && plan().shape.count_bits < 32) {
        write_narrow_entries(n);
      } else {
        write_wide_entries(n);
      }
      if (plan().shape.exceptions > 0) write_exceptions(n);
      written_ += n;
    }
    __syncthreads();
  }

  /// Entries of at most 64 bits, whose code a 32-bit count shows: the usual case, in few instructions.
  __device__ void write_narrow_entries(std::uint32_t n) {
    const auto rest_mask =
        (std::uint64_t{1} << plan().layout.rest_bits) - 1;  // below 2^64: the code has a bit
    const std::uint32_t code_bits = plan().shape.count_bits, escape = (1u << code_bits) - 1;
    pack_fields(words_ + plan().layout.entries_at, written_, n, plan().layout.entry_bits,
                [&](std::uint32_t i, int at) {
                  const std::uint64_t rest = static_cast<std::uint64_t>(sorter_.keys[i]) & rest_mask;
                  const std::uint64_t field = (rest << code_bits) | min(sorter_.counts[i] - 1, escape);
                  return at >= 0 ? field << at : field >> -at;
                });
  }
  __device__ void write_wide_entries(std::uint32_t n) {
    const Key mask =
        plan().layout.rest_bits >= kKeyBits<Key> ? ~Key{0} : (Key{1} << plan().layout.rest_bits) - 1;
    pack_fields(words_ + plan().layout.entries_at, written_, n, plan().layout.entry_bits,
                [&](std::uint32_t i, int at) {
                  const std::uint64_t here = count(i);
                  return bits_in_word(is_exception(here) ? escape() : here - 1, at) |
                         bits_in_word(sorter_.keys[i] & mask, at + plan().shape.count_bits);
                });
  }

  __device__ void write_exceptions(std::uint32_t n) {
    for (std::uint32_t first = 0; first < n; first += kThreads) {
      const std::uint32_t i = first + threadIdx.x;
      const std::uint64_t here = i < n ? count(i) : 1;
      const bool exception = i < n && is_exception(here);
      if (__syncthreads_count(exception ? 1 : 0) == 0) continue;
      const std::uint32_t before = block_prefix(exception ? 1 : 0);
      if (exception) {
        const Key128 field = (Key128{written_ + i} << plan().shape.exception_bits) | here;
        or_bits(words_ + plan().layout.exceptions_at, (exceptions_ + before) * plan().layout.exception_bits,
                field);
      }
      exceptions_ += __syncthreads_count(exception ? 1 : 0);
    }
  }

  const FreezeTask<Key>& task_;
  Sorter<Key>& sorter_;
  std::uint32_t lane_, warp_;
  unsigned long long* words_ = nullptr;
  std::uint32_t first_list_ = 0;
  std::uint64_t written_ = 0;      ///< entries
  std::uint64_t exceptions_ = 0;   ///< written
  std::uint64_t next_bucket_ = 0;  ///< whose offset is to be written next
};

template <class Key>
__global__ __launch_bounds__(kThreads, sizeof(Key) == 8 ? 5 : 4) void freeze_kernel(
    const __grid_constant__ FreezeTask<Key> task) {
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
