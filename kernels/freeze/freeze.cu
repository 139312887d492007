// A block freezes a shard, or a piece of one: takes its entries, from all its bins, by parts of the hash
// range that fit shared memory; puts a part in order (HashGraph, Green 2019: count, scan, place; then each
// entry finds its rank among the few of its bucket); and packs it: every entry puts its bits where they
// belong. While a part is put in order, the entries of the next are on their way, and one more warp finds out
// where those of the next but one are.

#include <cuda_pipeline.h>

#include <bit>

#include "kernels/freeze/freeze.cuh"
#include "kernels/freeze/freeze_shapes.cuh"
#include "kernels/freeze/shard_parts.cuh"
#include "kernels/freeze/shard_pieces.cuh"
#include "kernels/memory/bit_packing.cuh"
#include "kernels/memory/persistent_grid.cuh"
#include "kernels/memory/warp_scan.cuh"

namespace warpmer::gpu {

namespace {

template <class Key, class Shape>
struct Sorter {
  static constexpr std::uint32_t kMostEntryWords = sizeof(Key) / 4 + 1;

  Key keys[Shape::kCapacity];  ///< by bucket
  /// On their way: each thread's own, of the next part.
  Key next_keys[Shape::kCapacity];
  std::uint32_t next_counts[Shape::kCapacity];
  alignas(16) std::uint16_t buckets[Shape::kBuckets + 8];  ///< sizes, then offsets; zero between parts
  /// A part's entries, packed. Zero between parts, but for the bits of the last word that is not full.
  std::uint32_t packed[Shape::kCapacity * kMostEntryWords + 4];
  std::uint32_t exceptions[Shape::kCapacityWords];  ///< bit i: the i-th entry is one
  std::uint32_t exceptions_before[Shape::kCapacityWords];
  std::uint64_t exceptions_here,
      exceptions_next;  ///< exceptions of the shard before this part, and before the next
  std::uint64_t seam;   ///< word of the entries that the piece before has a share in
  LocatedPart<Shape> parts[2];
  PieceRanges piece;
  std::uint32_t warp_sums[Shape::kWarps];
  std::uint32_t size;
  bool any_exception;
  ShardPlan plan;              ///< plan of the shard at work; too large for registers
  std::uint32_t piece_number;  ///< number among all pieces
};

template <class Key, class Shape>
class ShardFreezer {
 public:
  __device__ ShardFreezer(const FreezeTask<Key>& task, std::uint32_t pieces, Sorter<Key, Shape>& sorter)
      : task_(task), pieces_(pieces), sorter_(sorter), lane_(threadIdx.x % 32), warp_(threadIdx.x / 32) {
    for_indices(std::size(sorter.packed), [&](std::uint64_t i) { sorter.packed[i] = 0; });
    clear_buckets();
  }

  /// Piece `number`, of those of all shards.
  __device__ void freeze(std::uint32_t number) {
    const std::uint32_t shard = number / pieces_;
    if (threadIdx.x == 0) sorter_.plan = task_.plans[shard];
    __syncthreads();
    if (plan().shape.entries == 0) return;
    words_ = task_.output + plan().first_word;
    first_bin_ = (task_.first_shard + shard) * task_.bins_per_shard;
    if (pieces_ == 1) clear_shared_words();
    measure_ranges(number % pieces_);
    begin_piece(shard, number % pieces_);
    pack_parts();
    finish();
  }

 private:
  static constexpr std::uint32_t kThreads = Shape::kThreads;
  static constexpr std::uint32_t kEach = Shape::kEach;
  static constexpr std::uint32_t kCapacity = Shape::kCapacity;
  static constexpr std::uint32_t kCapacityWords = Shape::kCapacityWords;
  static constexpr std::uint32_t kBuckets = Shape::kBuckets;
  static constexpr std::uint32_t kBucketBits = 31 - std::countl_zero(kBuckets);

  /// True in the warp that plans. It meets the others at every barrier, and takes no part otherwise.
  [[nodiscard]] __device__ static bool plans() { return threadIdx.x >= kThreads; }

  /// A thread's entries, on their way to their places: those numbered threadIdx.x + e * kThreads.
  struct ThreadEntries {
    Key keys[kEach];
    std::uint32_t counts[kEach];
    std::uint32_t places[kEach];
  };
  template <class Each>
  __device__ static void for_each(std::uint32_t n, Each&& each) {
#pragma unroll
    for (std::uint32_t e = 0; e < kEach; ++e) {
      if (!plans() && threadIdx.x + e * kThreads < n) each(e, threadIdx.x + e * kThreads);
    }
  }
  /// Indices below n, shared out among the threads.
  template <class Index, class With>
  __device__ static void for_indices(Index n, With&& with) {
    if (plans()) return;
    for (Index i = threadIdx.x; i < n; i += kThreads) with(i);
  }

  [[nodiscard]] __device__ const ShardPlan& plan() const { return sorter_.plan; }
  [[nodiscard]] __device__ Key begin_of_range(std::uint32_t range) const {
    return range_begin<Key>(range, task_.k, task_.counted.range_count);
  }
  [[nodiscard]] __device__ const std::uint32_t* ranges_of(std::uint32_t bin) const {
    return task_.counted.ranges_of(first_bin_ + bin);
  }
  /// Number in the arrays of a bin's first entry.
  [[nodiscard]] __device__ std::uint64_t begin_of(std::uint32_t bin) const {
    return task_.counted.begins[first_bin_ + bin - task_.counted.first_bin];
  }

  __device__ void clear_buckets() {
    if (!plans()) reinterpret_cast<uint4*>(sorter_.buckets)[threadIdx.x] = {0, 0, 0, 0};
  }

  /// Words of the payload that are not written at once but bit by bit.
  __device__ void clear_shared_words() {
    const index::PayloadLayout& layout = plan().layout;
    for_indices(layout.entries_at, [&](std::uint64_t w) { words_[w] = 0; });
    for_indices(layout.words - layout.exceptions_at,
                [&](std::uint64_t w) { words_[layout.exceptions_at + w] = 0; });
  }

  /// Adds up the ranges of all bins. A thread has a range, or a range of some of the bins.
  __device__ void measure_ranges(std::uint32_t number) {
    PieceRanges& piece = sorter_.piece;
    const std::uint32_t ranges = task_.counted.range_count;
    const std::uint32_t first = piece_begin(number, pieces_, ranges);
    const std::uint32_t end = piece_begin(number + 1, pieces_, ranges), columns = end - first + 1;
    for_indices(columns, [&](std::uint32_t i) { piece.begins[i] = 0; });
    for_indices(task_.bins_per_shard, [&](std::uint32_t i) {
      const std::uint32_t bin = bin_at(i, task_.bins_per_shard);
      piece.bin_begins[i] = begin_of(bin);
      piece.bin_offsets[i] = ranges_of(bin)[first];
    });
    if (threadIdx.x == 0) {
      piece.first = first;
      piece.end = end;
      // A range's ends are rounded to grains.
      const std::uint32_t bucket_bits = plan().shape.bucket_bits;
      piece.range_buckets = static_cast<std::uint32_t>((std::uint64_t{1} << bucket_bits) / ranges) + 1 +
                            (bucket_bits > kRangeGrainBits ? 1u << (bucket_bits - kRangeGrainBits) : 0);
      piece.entries_before = 0;
    }
    __syncthreads();
    for (std::uint32_t before = 0; !plans() && before < columns; before += kThreads) {
      const std::uint32_t width = min(columns - before, kThreads), step = kThreads / width;
      const std::uint32_t column = before + threadIdx.x % width;
      if (threadIdx.x >= step * width) continue;
      std::uint64_t sum = 0;
#pragma unroll 8
      for (std::uint32_t bin = threadIdx.x / width; bin < task_.bins_per_shard; bin += step)
        sum += ranges_of(bin)[first + column];
      atomicAdd(piece.begins + column, static_cast<std::uint32_t>(sum));
      if (column == 0) atomicAdd(&piece.entries_before, static_cast<unsigned long long>(sum));
    }
    __syncthreads();
  }

  /// Finds the begin of the piece's payload.
  __device__ void begin_piece(std::uint32_t shard, std::uint32_t number) {
    written_ = sorter_.piece.entries_before;
    next_bucket_ = 0;
    if (number > 0 && plan().layout.offset_bits > 0)
      next_bucket_ = bucket_of(begin_of_range(sorter_.piece.first) - 1) + 1;
    if (threadIdx.x != 0) return;
    sorter_.seam = pieces_ == 1 ? UINT64_MAX : written_ * plan().layout.entry_bits / 32;
    sorter_.exceptions_next = 0;
    const std::uint32_t* exceptions = piece_exceptions(task_, shard, pieces_);
    for (std::uint32_t piece = 0; piece < number; ++piece) sorter_.exceptions_next += exceptions[piece];
  }

  /// While a part is packed, the entries of the next are on their way, and the next but one is planned.
  __device__ void pack_parts() {
    const PartPlanner<Key, Shape> planner(task_, plan(), first_bin_, sorter_.piece);
    const std::uint32_t end = sorter_.piece.end;
    if (plans()) {
      planner.begin();
      for (LocatedPart<Shape>& located : sorter_.parts) {
        planner.locate(located);
        planner.complete(located);
      }
    }
    __syncthreads();
    start_loading(sorter_.parts[0]);
    EntryPart part = sorter_.parts[0].part;
    __syncthreads();
    for (std::uint32_t number = 0; part.first < end; ++number) {
      LocatedPart<Shape>&over = sorter_.parts[number % 2], &next = sorter_.parts[(number + 1) % 2];
      const EntryPart next_part = next.part;
      const auto prepare = [&] {
        if (plans()) {
          planner.locate(over);
        } else {
          start_loading(next);
        }
      };
      const auto plan_more = [&] { planner.complete(over); };
      if (part.end > part.first) {
        pack_ranges(part, prepare, plan_more);
      } else {
        pack_large_range(part.first);
        prepare();
        if (plans()) plan_more();
      }
      __syncthreads();
      part = next_part;
    }
  }

  /// Sends for a part's entries.
  __device__ void start_loading(const LocatedPart<Shape>& located) {
    if (located.part.end <= located.part.first) return;
    for_each(located.part.size, [&](std::uint32_t, std::uint32_t i) {
      const std::uint32_t bin =
          located.begins_before[i / 32] + __popc(located.begin_bits[i / 32] & (~0u >> (31 - lane_))) - 1;
      const std::uint64_t from = located.bin_from[bin] + i;
      __pipeline_memcpy_async(sorter_.next_keys + i, task_.counted.keys + from, sizeof(Key));
      __pipeline_memcpy_async(sorter_.next_counts + i, task_.counted.counts + from, sizeof(std::uint32_t));
    });
    __pipeline_commit();
  }
  /// Those this thread has sent for.
  __device__ void take_loaded(std::uint32_t n, ThreadEntries& entries) {
    __pipeline_wait_prior(0);
    for_each(n, [&](std::uint32_t e, std::uint32_t i) {
      entries.keys[e] = sorter_.next_keys[i];
      entries.counts[e] = sorter_.next_counts[i];
    });
  }

  /// Sorts by buckets that are parts of those of the index, so that the scan over them gives their offsets.
  /// Calls `prepare` when the room for entries on their way is free, and the warp that plans `plan_more`
  /// later.
  template <class Prepare, class PlanMore>
  __device__ void pack_ranges(const EntryPart& part, Prepare&& prepare, PlanMore&& plan_more) {
    const std::uint32_t n = part.size;
    ThreadEntries entries;
    take_loaded(n, entries);
    prepare();
    // A bucket that begins before the part has its offset.
    const std::uint32_t buckets = part.buckets, begun = part.begins_inside ? 1 : 0;
    const std::uint32_t rest_bits = plan().layout.rest_bits;
    const std::uint32_t finer = min(rest_bits, kBucketBits - (32 - __clz(static_cast<int>(buckets - 1))));
    const Key first = plan().shape.bucket_bits == 0 ? Key{0} : Key{next_bucket_ - begun} << rest_bits;
    sort(entries, n, first, rest_bits - finer, [&] {
      if (plans()) plan_more();
      if (plan().layout.offset_bits == 0 || plans()) return;
      pack_fields(words_, next_bucket_, buckets - begun, plan().layout.offset_bits, threadIdx.x, kThreads,
                  [&](std::uint32_t b) { return written_ + sorter_.buckets[(b + begun) << finer]; });
    });
    next_bucket_ += buckets - begun;
    write(entries, n);
  }

  /// A range of more entries than fit, so of a shard that has buckets: part by part.
  __device__ void pack_large_range(std::uint32_t range) {
    const Key begin = begin_of_range(range), last = begin_of_range(range + 1) - 1;
    const std::uint32_t range_size = sorter_.piece.size(range, range + 1);
    const std::uint32_t parts_bits = 32 - __clz(static_cast<int>(range_size / (kCapacity / 4 * 3)));
    const std::uint32_t range_bits = 2 * task_.k - (31 - __clz(static_cast<int>(task_.counted.range_count)));
    const std::uint32_t widest = range_bits - min(range_bits, parts_bits);
    std::uint32_t width = widest;
    for (Key first = begin;;) {
      const Key end = first + std::min<Key>(last - first, (Key{1} << width) - 1);
      ThreadEntries entries;
      const std::uint32_t n = load_some(range, first, end, entries);
      if (n > kCapacity) {
        --width;  // one hash has one entry
        continue;
      }
      sort(entries, n, first, width > kBucketBits ? width - kBucketBits : 0, [] {});
      write_offsets(entries, n);
      write(entries, n);
      if (end == last) break;
      first = end + 1;
      // Where hashes crowd parts are narrow; behind there they are to grow again.
      if (n <= kCapacity / 4 && width < widest) ++width;
    }
    // Buckets between the range's last entry and the next range.
    const std::uint64_t next = bucket_of(last) + 1;
    write_offset(next_bucket_, next);
    next_bucket_ = next;
    __syncthreads();
  }

  /// Loads the entries of a range from `first` to `last`. Returns their number; if that is more than the
  /// capacity, nothing is loaded.
  __device__ std::uint32_t load_some(std::uint32_t range, Key first, Key last, ThreadEntries& entries) {
    __syncthreads();
    if (threadIdx.x == 0) sorter_.size = 0;
    __syncthreads();
    for (std::uint32_t bin = warp_; !plans() && bin < task_.bins_per_shard; bin += Shape::kWarps) {
      const std::uint32_t* ranges = ranges_of(bin);
      const std::uint64_t begin = begin_of(bin);
      for (std::uint32_t i = ranges[range] + lane_; i < ranges[range + 1]; i += 32) {
        const Key hash = task_.counted.keys[begin + i];
        if (hash < first || hash > last) continue;
        const std::uint32_t at = atomicAdd(&sorter_.size, 1u);
        if (at >= kCapacity) continue;
        sorter_.next_keys[at] = hash;
        sorter_.next_counts[at] = task_.counted.counts[begin + i];
      }
    }
    __syncthreads();
    const std::uint32_t n = sorter_.size;
    if (n <= kCapacity) {
      for_each(n, [&](std::uint32_t e, std::uint32_t i) {
        entries.keys[e] = sorter_.next_keys[i];
        entries.counts[e] = sorter_.next_counts[i];
      });
    }
    __syncthreads();
    return n;
  }

  /// Finds the n entries' places in their order. A bucket is what `(hash - first) >> shift` says. Between,
  /// when the buckets' offsets are known, calls `with_offsets`. The keys are in shared memory, by bucket.
  template <class WithOffsets>
  __device__ void sort(ThreadEntries& entries, std::uint32_t n, Key first, std::uint32_t shift,
                       WithOffsets&& with_offsets) {
    if (threadIdx.x < kCapacityWords) sorter_.exceptions[threadIdx.x] = 0;
    if (threadIdx.x == 0) sorter_.any_exception = false;
    for_each(n, [&](std::uint32_t e, std::uint32_t) {
      const auto bucket = static_cast<std::uint32_t>((entries.keys[e] - first) >> shift);
      entries.places[e] = bucket | take_place(bucket) << 16;
    });
    __syncthreads();
    scan_buckets();
    for_each(n, [&](std::uint32_t e, std::uint32_t) {
      const std::uint32_t bucket = entries.places[e] & 0xFFFF, place = entries.places[e] >> 16;
      sorter_.keys[sorter_.buckets[bucket] + place] = entries.keys[e];
    });
    with_offsets();
    __syncthreads();
    for_each(n, [&](std::uint32_t e, std::uint32_t) {
      const std::uint32_t bucket = entries.places[e] & 0xFFFF;
      const std::uint32_t begin = sorter_.buckets[bucket], end = sorter_.buckets[bucket + 1];
      std::uint32_t place = begin;
      if (end - begin > 1) {
        for (std::uint32_t j = begin; j < end; ++j) place += sorter_.keys[j] < entries.keys[e] ? 1 : 0;
      }
      entries.places[e] = place;
    });
  }

  /// Returns the number of entries of this bucket that came before.
  __device__ std::uint32_t take_place(std::uint32_t bucket) {
    const std::uint32_t shift = 16 * (bucket % 2);
    auto* sizes = reinterpret_cast<std::uint32_t*>(sorter_.buckets);
    return (atomicAdd(sizes + bucket / 2, 1u << shift) >> shift) & 0xFFFF;
  }

  /// Bucket sizes to offsets; each thread has eight neighbours.
  __device__ void scan_buckets() {
    auto* all = reinterpret_cast<uint4*>(sorter_.buckets);
    const uint4 sizes = plans() ? uint4{} : all[threadIdx.x];
    const std::uint32_t pairs = sizes.x + sizes.y + sizes.z + sizes.w;
    const std::uint32_t sum = (pairs & 0xFFFF) + (pairs >> 16);
    const std::uint32_t up_to_here = warp_inclusive_sum(sum);
    if (!plans() && lane_ == 31) sorter_.warp_sums[warp_] = up_to_here;
    __syncthreads();
    if (!plans()) {
      std::uint32_t at = up_to_here - sum;
#pragma unroll
      for (std::uint32_t w = 0; w < Shape::kWarps; ++w) at += w < warp_ ? sorter_.warp_sums[w] : 0;
      const auto to_offsets = [&](std::uint32_t pair) {
        const std::uint32_t first = at, second = at + (pair & 0xFFFF);
        at = second + (pair >> 16);
        return first | second << 16;
      };
      const std::uint32_t x = to_offsets(sizes.x), y = to_offsets(sizes.y), z = to_offsets(sizes.z);
      all[threadIdx.x] = {x, y, z, to_offsets(sizes.w)};
      if (threadIdx.x == kThreads - 1) sorter_.buckets[kBuckets] = static_cast<std::uint16_t>(at);
    }
    __syncthreads();
  }

  [[nodiscard]] __device__ std::uint64_t bucket_of(Key hash) const {
    return static_cast<std::uint64_t>(hash >> plan().layout.rest_bits);
  }
  /// All that have been written lie before the buckets from `first` to the one before `end`.
  __device__ void write_offset(std::uint64_t first, std::uint64_t end) {
    for_indices(end - first, [&](std::uint64_t b) {
      or_device(words_, (first + b) * plan().layout.offset_bits, written_);
    });
  }

  /// Writes the offsets of parts that are not whole buckets: the offset of a bucket is the number of the
  /// first entry in it or behind it.
  __device__ void write_offsets(const ThreadEntries& entries, std::uint32_t n) {
    __syncthreads();
    for_each(n, [&](std::uint32_t e, std::uint32_t) { sorter_.keys[entries.places[e]] = entries.keys[e]; });
    __syncthreads();
    for_indices(n, [&](std::uint32_t i) {
      const std::uint64_t last = bucket_of(sorter_.keys[i]);
      for (std::uint64_t b = i == 0 ? next_bucket_ : bucket_of(sorter_.keys[i - 1]) + 1; b <= last; ++b)
        or_device(words_, b * plan().layout.offset_bits, written_ + i);
    });
    if (n > 0) next_bucket_ = bucket_of(sorter_.keys[n - 1]) + 1;
  }

  /// Packs the n entries, whose places are known.
  __device__ void write(const ThreadEntries& entries, std::uint32_t n) {
    const std::uint32_t bits = plan().layout.entry_bits;
    const std::uint64_t begin = written_ * bits;
    const auto skipped = static_cast<std::uint32_t>(begin % 32);
    if (sizeof(Key) == 8 && bits <= 64 && plan().shape.count_bits < 32) {
      put_narrow(entries, n, skipped);
    } else {
      put_wide(entries, n, skipped);
    }
    __syncthreads();
    clear_buckets();
    auto* out = reinterpret_cast<std::uint32_t*>(words_ + plan().layout.entries_at) + begin / 32;
    const std::uint32_t full_words = (skipped + n * bits) / 32;
    for_indices(full_words, [&](std::uint32_t w) {
      if (w == 0 && begin / 32 == sorter_.seam) {
        atomicOr(out, sorter_.packed[0]);
      } else {
        out[w] = sorter_.packed[w];
      }
      sorter_.packed[w] = 0;
    });
    if (threadIdx.x == 0 && full_words > 0) {
      sorter_.packed[0] = sorter_.packed[full_words];
      sorter_.packed[full_words] = 0;
    }
    if (sorter_.any_exception) write_exceptions(entries, n);
    written_ += n;
  }

  /// Entries of at most 64 bits, whose code a 32-bit count shows: the usual case, in few instructions.
  __device__ void put_narrow(const ThreadEntries& entries, std::uint32_t n, std::uint32_t skipped) {
    // Below 2^64: the code has a bit.
    const std::uint64_t rest_mask = (std::uint64_t{1} << plan().layout.rest_bits) - 1;
    const std::uint32_t code_bits = plan().shape.count_bits, escape = (1u << code_bits) - 1;
    const std::uint32_t bits = plan().layout.entry_bits;
    for_each(n, [&](std::uint32_t e, std::uint32_t) {
      const std::uint32_t code = min(entries.counts[e] - 1, escape);
      const std::uint64_t rest = static_cast<std::uint64_t>(entries.keys[e]) & rest_mask;
      or_shared(sorter_.packed, skipped + entries.places[e] * bits, (rest << code_bits) | code);
      if (code == escape) note_exception(entries.places[e]);
    });
  }
  __device__ void put_wide(const ThreadEntries& entries, std::uint32_t n, std::uint32_t skipped) {
    const std::uint32_t rest_bits = plan().layout.rest_bits, code_bits = plan().shape.count_bits;
    const Key rest_mask = rest_bits >= kKeyBits<Key> ? ~Key{0} : (Key{1} << rest_bits) - 1;
    const std::uint64_t escape = (std::uint64_t{1} << code_bits) - 1;
    for_each(n, [&](std::uint32_t e, std::uint32_t) {
      const std::uint64_t code = min(count(entries, e) - 1, escape);
      const Key rest = entries.keys[e] & rest_mask;
      const std::uint32_t at = skipped + entries.places[e] * plan().layout.entry_bits;
      or_shared(sorter_.packed, at, code);
      or_shared(sorter_.packed, at + code_bits, static_cast<std::uint64_t>(rest));
      if constexpr (sizeof(Key) == 16)
        or_shared(sorter_.packed, at + code_bits + 64, static_cast<std::uint64_t>(rest >> 64));
      if (code == escape) note_exception(entries.places[e]);
    });
  }
  [[nodiscard]] __device__ std::uint64_t count(const ThreadEntries& entries, std::uint32_t e) const {
    return entry_count(task_, first_bin_, entries.keys[e], entries.counts[e]);
  }

  __device__ void note_exception(std::uint32_t place) {
    atomicOr(&sorter_.exceptions[place / 32], 1u << (place % 32));
    sorter_.any_exception = true;
  }
  __device__ void write_exceptions(const ThreadEntries& entries, std::uint32_t n) {
    if (warp_ == 0) {
      const std::uint32_t all =
          count_bits_before(sorter_.exceptions, kCapacityWords, sorter_.exceptions_before);
      if (lane_ == 0) {
        sorter_.exceptions_here = sorter_.exceptions_next;
        sorter_.exceptions_next += all;
      }
    }
    __syncthreads();
    for_each(n, [&](std::uint32_t e, std::uint32_t) {
      const std::uint32_t place = entries.places[e], bits = sorter_.exceptions[place / 32];
      if (((bits >> (place % 32)) & 1) == 0) return;
      const std::uint64_t number = sorter_.exceptions_here + sorter_.exceptions_before[place / 32] +
                                   __popc(bits & ((1u << (place % 32)) - 1));
      const Key128 field = (Key128{written_ + place} << plan().shape.exception_bits) | count(entries, e);
      or_device(words_ + plan().layout.exceptions_at, number * plan().layout.exception_bits, field);
    });
  }

  /// The last word of the entries and, behind the last piece, offsets.
  __device__ void finish() {
    if (plan().layout.offset_bits > 0 && sorter_.piece.end == task_.counted.range_count)
      write_offset(next_bucket_, (std::uint64_t{1} << plan().shape.bucket_bits) + 1);
    if (threadIdx.x != 0) return;
    auto* out = reinterpret_cast<std::uint32_t*>(words_ + plan().layout.entries_at);
    const std::uint64_t bits = written_ * plan().layout.entry_bits, full_words = bits / 32;
    const std::uint32_t rest = sorter_.packed[0];
    sorter_.packed[0] = 0;
    if (pieces_ > 1) {
      if (bits % 32 != 0) atomicOr(out + full_words, rest);
      return;
    }
    if (bits % 32 != 0) out[full_words] = rest;
    if (const std::uint64_t out_words = (bits + 31) / 32; out_words % 2 != 0) out[out_words] = 0;
  }

  const FreezeTask<Key>& task_;
  std::uint32_t pieces_;
  Sorter<Key, Shape>& sorter_;
  std::uint32_t lane_, warp_;
  unsigned long long* words_ = nullptr;
  std::uint32_t first_bin_ = 0;
  std::uint64_t written_ = 0;      ///< entries
  std::uint64_t next_bucket_ = 0;  ///< whose offset is to be written next
};

template <class Key, class Shape>
__global__ __launch_bounds__(Shape::kThreads + 32,
                             Shape::kBlocks) void freeze_kernel(const __grid_constant__ FreezeTask<Key> task,
                                                                std::uint32_t pieces) {
  extern __shared__ __align__(16) char shared[];
  auto& sorter = *reinterpret_cast<Sorter<Key, Shape>*>(shared);
  ShardFreezer<Key, Shape> freezer(task, pieces, sorter);
  for (;;) {
    if (threadIdx.x == 0) sorter.piece_number = atomicAdd(task.scratch, 1u);
    __syncthreads();
    const std::uint32_t number = sorter.piece_number;
    __syncthreads();
    if (number >= task.shards * pieces) return;
    freezer.freeze(number);
  }
}

template <class Key, class Shape>
std::uint32_t blocks_at_once() {
  return persistent_grid(freeze_kernel<Key, Shape>, Shape::kThreads + 32, sizeof(Sorter<Key, Shape>));
}

template <class Key, class Shape>
void launch(const FreezeTask<Key>& task, std::uint32_t pieces, cudaStream_t stream) {
  constexpr std::uint32_t kThreads = Shape::kThreads + 32;
  constexpr std::size_t kBytes = sizeof(Sorter<Key, Shape>);
  const std::uint32_t grid = std::min(task.shards * pieces, blocks_at_once<Key, Shape>());
  freeze_kernel<Key, Shape><<<grid, kThreads, kBytes, DriverLock::Shared(stream)>>>(task, pieces);
  check_launch("freezing shards");
}

}  // namespace

template <class Key>
std::uint32_t shards_at_once(double entries_per_shard) {
  return std::max(1u, blocks_at_once<Key, SmallBlock<Key>>() / pieces_for(entries_per_shard));
}

template <class Key>
bool has_large_blocks() {
  return sizeof(Sorter<Key, LargeBlock<Key>>) <= shared_limit();
}

template <class Key>
void launch_freeze(const FreezeTask<Key>& task, cudaStream_t stream) {
  if (task.shards == 0) return;
  const double in_shard = static_cast<double>(task.entries) / task.shards;
  const std::uint32_t pieces = std::min(
      pieces_for(in_shard, task.shards, blocks_at_once<Key, SmallBlock<Key>>()), task.counted.range_count);
  // The number of the piece whose turn it is, and exceptions of pieces.
  fill_bytes(task.scratch, 0, 1 + (pieces > 1 ? std::size_t{task.shards} * pieces : 0), stream);
  if (pieces > 1) launch_survey(task, pieces, stream);
  // Ranges that do not fit, and all that do not fit small blocks on GPUs that have no room for large ones,
  // are taken in parts, each of which looks at the whole range.
  const bool fits_small = fits<SmallBlock<Key>>(in_shard / task.counted.range_count);
  if (!fits_small && has_large_blocks<Key>()) {
    launch<Key, LargeBlock<Key>>(task, pieces, stream);
  } else {
    launch<Key, SmallBlock<Key>>(task, pieces, stream);
  }
}

template std::uint32_t shards_at_once<Key64>(double);
template std::uint32_t shards_at_once<Key128>(double);
template bool has_large_blocks<Key64>();
template bool has_large_blocks<Key128>();
template void launch_freeze(const FreezeTask<Key64>&, cudaStream_t);
template void launch_freeze(const FreezeTask<Key128>&, cudaStream_t);

}  // namespace warpmer::gpu
