// A block takes one piece of a shard after another: a range of hashes whose entries, from all that is merged,
// fit shared memory. They are unpacked there, a thread a bucket; each finds its like in the other two by
// binary search, and the place of what is left follows from how many before it are left in each. So nothing
// has to be sorted. All is done twice, once to learn how wide the fields of the payload are, once to write
// it: what is read of device memory is a small part of what the device can read while the bus brings it.

#include <bit>

#include "kernels/freeze/shard_parts.cuh"
#include "kernels/memory/bit_packing.cuh"
#include "kernels/memory/persistent_grid.cuh"
#include "kernels/update/shard_merge.cuh"

namespace warpmer::gpu {

namespace {

constexpr std::uint32_t kPieceThreads = 512;
constexpr std::uint32_t kInputs = 3;  ///< was, added, removed

/// Entries of a range that is merged at once.
template <class Key>
inline constexpr std::uint32_t kMergeCapacity = sizeof(Key) == 8 ? 2048 : 1024;

/// The shared memory of a block. It is little enough for three blocks on a multiprocessor, since most of a
/// piece's time is waiting for memory and for other threads.
template <class Key, bool writes>
struct MergeMemory {
  static constexpr std::uint32_t kCapacity = kMergeCapacity<Key>;
  static constexpr std::uint32_t kBitWords = kCapacity / 32;
  static constexpr std::uint32_t kMostEntryWords = sizeof(Key) / 4 + 1;
  /// Counts below this are noted in shared memory first.
  static constexpr std::uint32_t kSmallCounts = 512;

  Key keys[kCapacity];  ///< keys of the three inputs, one behind the other
  union {
    std::uint64_t counts[kCapacity];     ///< theirs, until they have been added up
    Key sorted[writes ? kCapacity : 1];  ///< then what is left, in order
  };
  std::uint32_t kept[kBitWords + 1];  ///< bit i: entry i of the first two is left; a word of 0 behind
  std::uint32_t kept_before[kBitWords + 1];
  std::uint32_t exceptions[kBitWords];  ///< bit i: the i-th of what is left is one
  std::uint32_t exceptions_before[kBitWords];
  /// The packed entries that are left; zero between ranges.
  std::uint32_t packed[writes ? kCapacity * kMostEntryWords + 4 : 1];
  std::uint32_t small_counts[kSmallCounts];
  std::uint32_t widths[kWidths];
  std::uint64_t begins[kInputs], ends[kInputs];  ///< the range's entries
  std::uint32_t kept_count, exception_count;
  std::uint32_t shard_number;
  std::uint32_t piece;
};

template <class Key>
__device__ constexpr Key low_hash_bits(std::uint32_t bits) {
  return bits >= kKeyBits<Key> ? ~Key{0} : (Key{1} << bits) - 1;
}

/// Takes pieces through, one after another.
template <class Key, bool writes>
class PieceMerger {
 public:
  using Memory = MergeMemory<Key, writes>;
  static constexpr std::uint32_t kCapacity = Memory::kCapacity;
  static constexpr std::uint32_t kEach = kCapacity / kPieceThreads;

  __device__ PieceMerger(const MergeTask<Key>& task, Memory& memory)
      : task_(task), memory_(memory), lane_(threadIdx.x % 32) {
    for_indices(std::size(memory.packed), [&](std::uint64_t i) { memory.packed[i] = 0; });
    for_indices(Memory::kSmallCounts, [&](std::uint64_t i) { memory.small_counts[i] = 0; });
    for_indices(kWidths, [&](std::uint64_t i) { memory.widths[i] = 0; });
  }

  __device__ void merge(std::uint32_t piece) {
    if (threadIdx.x == 0) memory_.shard_number = shard_of_piece(piece);
    __syncthreads();
    const std::uint32_t shard = memory_.shard_number;
    if (writes && task_.plans[shard].shape.entries == 0) return;
    const std::uint32_t bits = task_.shards[shard].piece_bits, width = 2 * task_.k - bits;
    const Key begin = bits == 0 ? Key{0} : Key{piece - task_.shards[shard].first_piece} << width;
    const Key last = begin | low_hash_bits<Key>(width);
    if constexpr (writes) begin_writing(piece, shard, begin, last);
    left_ = 0;
    go_through(task_.shards[shard], begin, last, width);
    if constexpr (writes) {
      write_offset(next_bucket_, end_bucket_);
    } else {
      finish_measuring(piece, shard);
    }
  }

  /// Is called when no more pieces come.
  __device__ void finish() {
    if constexpr (writes) return;
    __syncthreads();
    for_indices(Memory::kSmallCounts, [&](std::uint64_t count) {
      if (const std::uint32_t n = memory_.small_counts[count]; n > 0) atomicAdd(task_.tallies + count, n);
    });
  }

 private:
  /// A thread's entries: those numbered threadIdx.x + e * kPieceThreads.
  struct ThreadTotals {
    std::uint64_t totals[kEach];  ///< 0: nothing is left, or it is another entry's
    std::uint32_t others[kEach];  ///< entries before this one in the other input that adds
  };

  /// Indices below n, shared out among the threads.
  template <class With>
  __device__ static void for_indices(std::uint64_t n, With&& with) {
    for (std::uint64_t i = threadIdx.x; i < n; i += kPieceThreads) with(i);
  }
  template <class Each>
  __device__ static void for_each(Each&& each) {
#pragma unroll
    for (std::uint32_t e = 0; e < kEach; ++e) each(e, threadIdx.x + e * kPieceThreads);
  }

  [[nodiscard]] __device__ std::uint32_t shard_of_piece(std::uint32_t piece) const {
    std::uint32_t first = 0;
    for (std::uint32_t n = task_.shard_count; n > 1;) {
      const std::uint32_t half = n / 2;
      if (task_.shards[first + half].first_piece <= piece) first += half;
      n -= half;
    }
    return first;
  }

  /// A piece in one range, or, where hashes crowd, in narrower ones.
  __device__ void go_through(const MergedShard<Key>& shard, Key begin, Key last, std::uint32_t widest) {
    const index::ShardReader<Key>* const inputs[kInputs] = {&shard.was, &shard.added, &shard.removed};
    if (threadIdx.x < kInputs) {
      const index::ShardReader<Key>& input = *inputs[threadIdx.x];
      memory_.begins[threadIdx.x] = input.entries() == 0 ? 0 : input.first_from(begin);
    }
    std::uint32_t width = widest;
    for (Key first = begin;;) {
      const Key until = first + std::min<Key>(last - first, low_hash_bits<Key>(width));
      if (threadIdx.x < kInputs) find_end(*inputs[threadIdx.x], until);
      __syncthreads();
      std::uint64_t n = 0;
      for (std::uint32_t i = 0; i < kInputs; ++i) n += memory_.ends[i] - memory_.begins[i];
      if (n > kCapacity) {
        __syncthreads();
        if (width == 0) return note_damage();  // one hash has one entry in each
        --width;
        continue;
      }
      if (n > 0) merge_range(inputs, first, until);
      __syncthreads();
      if (until == last) return;
      if (threadIdx.x < kInputs) memory_.begins[threadIdx.x] = memory_.ends[threadIdx.x];
      first = until + 1;
      if (n <= kCapacity / 4 && width < widest) ++width;
    }
  }
  __device__ void find_end(const index::ShardReader<Key>& input, Key until) {
    const bool is_last = until == low_hash_bits<Key>(2 * task_.k);
    const std::uint64_t end = input.entries() == 0 || is_last ? input.entries() : input.first_from(until + 1);
    if (end < memory_.begins[threadIdx.x]) note_damage();
    memory_.ends[threadIdx.x] = max(end, memory_.begins[threadIdx.x]);
  }
  __device__ void note_damage() { *task_.damaged = memory_.shard_number + 1; }

  __device__ void merge_range(const index::ShardReader<Key>* const* inputs, Key first, Key until) {
    std::uint32_t sizes[kInputs], at = 0;
    for (std::uint32_t i = 0; i < kInputs; ++i) {
      sizes[i] = static_cast<std::uint32_t>(memory_.ends[i] - memory_.begins[i]);
      if (sizes[i] > 0) unpack(*inputs[i], i, first, until, at);
      at += sizes[i];
    }
    __syncthreads();
    ThreadTotals entries;
    add_up(sizes, entries);
    if constexpr (writes) {
      write_range(sizes, entries);
    } else {
      note(entries);
    }
  }

  /// Puts an input's entries of the range to place `at`, a thread a bucket.
  __device__ void unpack(const index::ShardReader<Key>& input, std::uint32_t number, Key first, Key until,
                         std::uint32_t at) {
    const std::uint64_t begin = memory_.begins[number], end = memory_.ends[number];
    const std::uint64_t last_bucket = input.bucket_of(until);
    for (std::uint64_t b = input.bucket_of(first) + threadIdx.x; b <= last_bucket; b += kPieceThreads) {
      const auto [bucket_begin, bucket_end] = input.bucket(b);
      if (bucket_end < bucket_begin) note_damage();
      for (std::uint64_t i = max(bucket_begin, begin); i < min(bucket_end, end); ++i) {
        memory_.keys[at + (i - begin)] = input.hash_at(b, i);
        memory_.counts[at + (i - begin)] = input.count_at(i);
      }
    }
  }

  /// The first of n keys from place `begin` on that is not below `key`; counted from there.
  [[nodiscard]] __device__ std::uint32_t find(std::uint32_t begin, std::uint32_t n, Key key) const {
    std::uint32_t first = 0;
    while (n > 0) {
      const std::uint32_t half = n / 2;
      if (memory_.keys[begin + first + half] < key) {
        first += half + 1;
        n -= half + 1;
      } else {
        n = half;
      }
    }
    return first;
  }
  /// The count of `key` among these, of which `found` is the first not below it; 0: it is not there.
  [[nodiscard]] __device__ std::uint64_t count_of(std::uint32_t begin, std::uint32_t n, std::uint32_t found,
                                                  Key key) const {
    return found < n && memory_.keys[begin + found] == key ? memory_.counts[begin + found] : 0;
  }

  /// Computes the count of each entry. If a k-mer was there before and is added, its first entry gets the
  /// count; a k-mer that is only removed has no such entry.
  __device__ void add_up(const std::uint32_t (&sizes)[kInputs], ThreadTotals& entries) {
    const std::uint32_t was = sizes[0], added = sizes[1], adding = was + added, all = adding + sizes[2];
    for_each([&](std::uint32_t e, std::uint32_t i) {
      std::uint64_t total = 0;
      std::uint32_t other = 0;
      if (i < all) {
        const Key key = memory_.keys[i];
        const std::uint64_t count = memory_.counts[i];
        if (!writes && i < was && (count == 0 || (i > 0 && memory_.keys[i - 1] >= key))) note_damage();
        if (i < was) {
          other = find(was, added, key);
          total = taken_from(count + count_of(was, added, other, key), key, adding, sizes[2]);
        } else if (i < adding) {
          other = find(0, was, key);
          if (count_of(0, was, other, key) == 0) total = taken_from(count, key, adding, sizes[2]);
        } else if (!writes && count_of(0, was, find(0, was, key), key) == 0 &&
                   count_of(was, added, find(was, added, key), key) == 0) {
          atomicAdd(&task_.shortfall->absent_kmers, 1ull);
          atomicAdd(&task_.shortfall->absent_occurrences, count);
        }
      }
      entries.totals[e] = total;
      entries.others[e] = other;
      const std::uint32_t kept = __ballot_sync(~0u, total > 0);
      if (writes && lane_ == 0) memory_.kept[i / 32] = kept;
    });
  }
  [[nodiscard]] __device__ std::uint64_t taken_from(std::uint64_t count, Key key, std::uint32_t begin,
                                                    std::uint32_t n) const {
    if (n == 0) return count;
    const std::uint64_t removed = count_of(begin, n, find(begin, n, key), key);
    if (removed <= count) return count - removed;
    if (!writes) {
      atomicAdd(&task_.shortfall->short_kmers, 1ull);
      atomicAdd(&task_.shortfall->short_occurrences, static_cast<unsigned long long>(removed - count));
    }
    return 0;
  }

  // --- Measuring

  __device__ void note(const ThreadTotals& entries) {
    for_each([&](std::uint32_t e, std::uint32_t) {
      const std::uint64_t count = entries.totals[e];
      const auto width = static_cast<std::uint32_t>(64 - __clzll(static_cast<long long>(count)));
      // Most counts of a warp are of a few widths, and many are 1.
      const std::uint32_t alike = __match_any_sync(~0u, width);
      const std::uint32_t number = __popc(alike);
      if (count > 0 && (alike & ((1u << lane_) - 1)) == 0) {
        atomicAdd(&memory_.widths[width], number);
        if (count == 1) atomicAdd(&memory_.small_counts[1], number);
      }
      if (count > 1 && count < Memory::kSmallCounts) {
        atomicAdd(&memory_.small_counts[count], 1u);
      } else if (count > 1 && count < CountHistogram::kTallies) {
        atomicAdd(task_.tallies + count, 1ull);
      }
    });
  }

  __device__ void finish_measuring(std::uint32_t piece, std::uint32_t shard) {
    __syncthreads();
    if (threadIdx.x < 32) {
      std::uint32_t entries = 0;
      for (std::uint32_t width = 0; width < kWidths; width += 32) {
        const std::uint32_t w = width + lane_, n = w < kWidths ? memory_.widths[w] : 0;
        entries += n;
        if (w >= kWidths) continue;
        task_.widths[std::size_t{piece} * kWidths + w] = n;
        if (n > 0) atomicAdd(task_.shard_widths + std::size_t{shard} * kWidths + w, n);
        memory_.widths[w] = 0;
      }
      entries = __reduce_add_sync(~0u, entries);
      if (lane_ == 0) task_.entries[piece] = entries;
    }
    __syncthreads();
  }

  // --- Writing

  [[nodiscard]] __device__ const ShardPlan& plan() const { return task_.plans[memory_.shard_number]; }

  __device__ void begin_writing(std::uint32_t piece, std::uint32_t shard, Key begin, Key last) {
    const index::PayloadLayout& layout = task_.plans[shard].layout;
    words_ = task_.output + task_.plans[shard].first_word;
    left_ = 0;
    entries_before_ = task_.entries_before[piece];
    exceptions_before_ = task_.exceptions_before[piece];
    next_bucket_ = end_bucket_ = 0;
    if (layout.offset_bits == 0) return;
    // The offsets of buckets that begin inside the piece are the piece's; that behind them all is the last
    // one's.
    const auto begins_from = [&](Key hash) {
      return static_cast<std::uint64_t>(hash >> layout.rest_bits) +
             ((hash & low_hash_bits<Key>(layout.rest_bits)) != 0 ? 1 : 0);
    };
    next_bucket_ = begins_from(begin);
    const bool is_last = last == low_hash_bits<Key>(2 * task_.k);
    end_bucket_ =
        is_last ? (std::uint64_t{1} << task_.plans[shard].shape.bucket_bits) + 1 : begins_from(last + 1);
  }

  /// Returns how many of the first i entries of the first two inputs are left.
  [[nodiscard]] __device__ std::uint32_t kept_before(std::uint32_t i) const {
    return memory_.kept_before[i / 32] + __popc(memory_.kept[i / 32] & ((1u << (i % 32)) - 1));
  }

  __device__ void write_range(const std::uint32_t (&sizes)[kInputs], const ThreadTotals& entries) {
    const std::uint32_t was = sizes[0];
    for_indices(Memory::kBitWords, [&](std::uint64_t w) { memory_.exceptions[w] = 0; });
    if (threadIdx.x == 0) memory_.kept[Memory::kBitWords] = 0;
    __syncthreads();
    if (threadIdx.x < 32) {
      const std::uint32_t all = count_bits_before(memory_.kept, Memory::kBitWords, memory_.kept_before);
      if (lane_ == 0) memory_.kept_before[Memory::kBitWords] = memory_.kept_count = all;
    }
    __syncthreads();
    const std::uint32_t kept = memory_.kept_count, kept_of_was = kept_before(was);
    const index::PayloadLayout& layout = plan().layout;
    const auto skipped = static_cast<std::uint32_t>(written() * layout.entry_bits % 32);
    std::uint32_t places[kEach];
    for_each([&](std::uint32_t e, std::uint32_t i) {
      if (entries.totals[e] == 0) return;
      const std::uint32_t other = entries.others[e];
      places[e] = i < was ? kept_before(i) + kept_before(was + other) - kept_of_was
                          : kept_before(i) - kept_of_was + kept_before(other);
      memory_.sorted[places[e]] = memory_.keys[i];
      pack(skipped + places[e] * layout.entry_bits, places[e], memory_.keys[i], entries.totals[e]);
    });
    __syncthreads();
    flush(skipped, kept * layout.entry_bits);
    write_offsets(kept);
    if (plan().shape.exceptions > 0) write_exceptions(entries, places);
    left_ += kept;
  }
  /// Entries of the shard before the range.
  [[nodiscard]] __device__ std::uint64_t written() const { return entries_before_ + left_; }

  /// Puts an entry at bit `at` of the packed words.
  __device__ void pack(std::uint32_t at, std::uint32_t place, Key key, std::uint64_t count) {
    const std::uint32_t rest_bits = plan().layout.rest_bits, code_bits = plan().shape.count_bits;
    const Key rest = key & low_hash_bits<Key>(rest_bits);
    const std::uint64_t escape = (std::uint64_t{1} << code_bits) - 1, code = min(count - 1, escape);
    if (code == escape) atomicOr(&memory_.exceptions[place / 32], 1u << (place % 32));
    if (rest_bits + code_bits <= 64) {
      or_shared(memory_.packed, at, (static_cast<std::uint64_t>(rest) << code_bits) | code);
      return;
    }
    or_shared(memory_.packed, at, code);
    or_shared(memory_.packed, at + code_bits, static_cast<std::uint64_t>(rest));
    if constexpr (sizeof(Key) == 16)
      or_shared(memory_.packed, at + code_bits + 64, static_cast<std::uint64_t>(rest >> 64));
  }
  /// Writes the packed words: neighbours have a share in the first and the last one.
  __device__ void flush(std::uint32_t skipped, std::uint32_t bits) {
    auto* out = reinterpret_cast<std::uint32_t*>(words_ + plan().layout.entries_at) +
                written() * plan().layout.entry_bits / 32;
    const std::uint32_t words = bits == 0 ? 0 : (skipped + bits + 31) / 32;
    for_indices(words, [&](std::uint64_t w) {
      if (w == 0 || w + 1 == words) {
        atomicOr(out + w, memory_.packed[w]);
      } else {
        out[w] = memory_.packed[w];
      }
      memory_.packed[w] = 0;
    });
  }

  [[nodiscard]] __device__ std::uint64_t bucket_of(Key hash) const {
    return static_cast<std::uint64_t>(hash >> plan().layout.rest_bits);
  }
  /// All that have been written lie before the buckets from `first` to the one before `end`.
  __device__ void write_offset(std::uint64_t first, std::uint64_t end) {
    if (first >= end) return;
    for_indices(end - first, [&](std::uint64_t b) {
      or_device(words_, (first + b) * plan().layout.offset_bits, written());
    });
  }
  /// The offset of a bucket is the number of the first entry in it or behind it.
  __device__ void write_offsets(std::uint32_t kept) {
    if (plan().layout.offset_bits == 0 || kept == 0) return;
    for_indices(kept, [&](std::uint64_t i) {
      const std::uint64_t last = bucket_of(memory_.sorted[i]);
      std::uint64_t b = i == 0 ? next_bucket_ : bucket_of(memory_.sorted[i - 1]) + 1;
      for (b = max(b, next_bucket_); b <= last; ++b)
        or_device(words_, b * plan().layout.offset_bits, written() + i);
    });
    next_bucket_ = max(next_bucket_, bucket_of(memory_.sorted[kept - 1]) + 1);
  }

  __device__ void write_exceptions(const ThreadTotals& entries, const std::uint32_t (&places)[kEach]) {
    if (threadIdx.x < 32) {
      const std::uint32_t all =
          count_bits_before(memory_.exceptions, Memory::kBitWords, memory_.exceptions_before);
      if (lane_ == 0) memory_.exception_count = all;
    }
    __syncthreads();
    for_each([&](std::uint32_t e, std::uint32_t) {
      if (entries.totals[e] == 0) return;
      const std::uint32_t place = places[e], bits = memory_.exceptions[place / 32];
      if (((bits >> (place % 32)) & 1) == 0) return;
      const std::uint64_t number = exceptions_before_ + memory_.exceptions_before[place / 32] +
                                   __popc(bits & ((1u << (place % 32)) - 1));
      const Key128 field = (Key128{written() + place} << plan().shape.exception_bits) | entries.totals[e];
      or_device(words_ + plan().layout.exceptions_at, number * plan().layout.exception_bits, field);
    });
    exceptions_before_ += memory_.exception_count;
  }

  const MergeTask<Key>& task_;
  Memory& memory_;
  const std::uint32_t lane_;
  std::uint64_t left_ = 0;  ///< entries of the piece so far that are left
  unsigned long long* words_ = nullptr;
  std::uint64_t entries_before_ = 0;     ///< entries of the shard before the piece
  std::uint64_t exceptions_before_ = 0;  ///< exceptions of the shard before the range
  std::uint64_t next_bucket_ = 0, end_bucket_ = 0;
};

template <class Key, bool writes>
__global__ __launch_bounds__(kPieceThreads,
                             3) void merge_kernel(const __grid_constant__ MergeTask<Key> task) {
  extern __shared__ __align__(16) char shared[];
  auto& memory = *reinterpret_cast<MergeMemory<Key, writes>*>(shared);
  PieceMerger<Key, writes> merger(task, memory);
  for (;;) {
    __syncthreads();
    if (threadIdx.x == 0) memory.piece = atomicAdd(task.next, 1u);
    __syncthreads();
    const std::uint32_t piece = memory.piece;
    if (piece >= task.pieces) break;
    merger.merge(piece);
  }
  merger.finish();
}

constexpr std::uint32_t kPlaceThreads = 512;

/// A block adds up the pieces of a shard: its warps the exceptions of each, and then one warp those of all.
template <class Key>
__global__ __launch_bounds__(kPlaceThreads) void place_pieces_kernel(
    const __grid_constant__ MergeTask<Key> task) {
  const std::uint32_t shard = blockIdx.x, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const std::uint32_t first = task.shards[shard].first_piece, pieces = 1u << task.shards[shard].piece_bits;
  const index::ShardShape& shape = task.plans[shard].shape;
  for (std::uint32_t number = warp; number < pieces; number += kPlaceThreads / 32) {
    const std::uint32_t* const widths = task.widths + std::size_t{first + number} * kWidths;
    std::uint32_t sum = 0;
    for (std::uint32_t width = shape.count_bits + 1 + lane; shape.exceptions > 0 && width < kWidths;
         width += 32)
      sum += widths[width];
    sum = warp_inclusive_sum(sum);
    if (lane == 31) task.exceptions_before[first + number] = sum;  // of the piece itself, for now
  }
  __syncthreads();
  if (warp > 0) return;
  std::uint64_t entries = 0, exceptions = 0;
  for (std::uint32_t before = 0; before < pieces; before += 32) {
    const std::uint32_t piece = first + before + lane;
    const bool is_one = before + lane < pieces;
    const std::uint32_t here = is_one ? task.entries[piece] : 0;
    const auto exceptions_here = static_cast<std::uint32_t>(is_one ? task.exceptions_before[piece] : 0);
    const std::uint32_t sum = warp_inclusive_sum(here), exception_sum = warp_inclusive_sum(exceptions_here);
    if (is_one) {
      task.entries_before[piece] = entries + sum - here;
      task.exceptions_before[piece] = exceptions + exception_sum - exceptions_here;
    }
    entries += __shfl_sync(~0u, sum, 31);
    exceptions += __shfl_sync(~0u, exception_sum, 31);
  }
}

template <class Key, bool writes>
void launch_merge(const MergeTask<Key>& task, cudaStream_t stream) {
  constexpr std::size_t kBytes = sizeof(MergeMemory<Key, writes>);
  const std::uint32_t blocks = persistent_grid(merge_kernel<Key, writes>, kPieceThreads, kBytes);
  fill_bytes(task.next, 0, 1, stream);
  merge_kernel<Key, writes>
      <<<std::min(task.pieces, blocks), kPieceThreads, kBytes, DriverLock::Shared(stream)>>>(task);
  check_launch("merging shards");
}

}  // namespace

template <class Key>
std::uint32_t most_entries_per_piece() {
  return kMergeCapacity<Key> / 4 * 3;  // nearly all pieces, then, fit
}

template <class Key>
void launch_measure_merge(const MergeTask<Key>& task, cudaStream_t stream) {
  if (task.pieces > 0) launch_merge<Key, false>(task, stream);
}

template <class Key>
void launch_write_merge(const MergeTask<Key>& task, cudaStream_t stream) {
  if (task.pieces == 0) return;
  place_pieces_kernel<Key><<<task.shard_count, kPlaceThreads, 0, DriverLock::Shared(stream)>>>(task);
  check_launch("merging shards");
  launch_merge<Key, true>(task, stream);
}

template std::uint32_t most_entries_per_piece<Key64>();
template std::uint32_t most_entries_per_piece<Key128>();
template void launch_measure_merge(const MergeTask<Key64>&, cudaStream_t);
template void launch_measure_merge(const MergeTask<Key128>&, cudaStream_t);
template void launch_write_merge(const MergeTask<Key64>&, cudaStream_t);
template void launch_write_merge(const MergeTask<Key128>&, cudaStream_t);

}  // namespace warpmer::gpu
