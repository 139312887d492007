// A block counts a list: expands its super-k-mers, evenly over all lanes, and inserts the hashes of the
// k-mers into a WarpDrive table in shared memory. A list that is too much for the table is counted in
// parts, by hash range, in increasing order; so a list can be of any size, and a table never hangs.

#include "core/hash.h"
#include "count.cuh"
#include "persistent_grid.cuh"
#include "table/warpdrive.h"
#include "tile_cuda.cuh"
#include "warp_scan.cuh"

namespace warpmer::gpu {

namespace {

/// One lane looks at 32 bytes of keys. (Half of it costs more probes than it saves instructions: measured.)
template <class Key>
using CountTile = CudaTile<Key, 1, 32 / static_cast<int>(sizeof(Key))>;

constexpr std::uint32_t kSmallBins = 256;
constexpr std::uint32_t kMostThreads = 512;
/// Of so many threads, to be had on a multiprocessor: registers are given out accordingly.
template <class Key>
constexpr std::uint32_t kLeastBlocks = sizeof(Key) == 8 ? 3 : 2;
constexpr std::uint32_t kMostCarries = 128;

/// The words that a warp is expanding, as their reader leaves them, and where their k-mers begin.
template <int Words>
struct WarpScratch {
  static constexpr std::uint32_t kMostKmers = 32 * SuperKmer<Words>::kMaxKmers;
  std::uint32_t forward[2 * Words][32];  ///< 32 bits of each word in a row
  std::uint32_t reverse[2 * Words][32];
  std::uint32_t begin_bits[kMostKmers / 32];  ///< bit t: a word's first k-mer is number t
  std::uint16_t begins[32];
  std::uint16_t ends[32];
};

template <class Key>
struct BlockState {
  std::uint32_t list;
  std::uint32_t segment_ends[kMostSegments];  ///< words of the list up to the end of each segment
  bool full;
  std::uint32_t size;
  unsigned long long empty_key_count;   ///< of the hash that marks empty slots
  std::uint32_t fresh_ranges[kRanges];  ///< keys inserted, by range
  std::uint32_t range_sizes[kRanges];   ///< entries to be kept
  std::uint32_t range_cursors[kRanges];
  unsigned long long out_begin;
  std::uint32_t small_bins[kSmallBins];
  std::uint32_t carries;
  Key carry_keys[kMostCarries];
  std::uint64_t carry_counts[kMostCarries];
};

/// A part of a list: the hashes [low, low + 2^width).
template <class Key>
struct HashRange {
  Key low;
  std::uint32_t width;

  __device__ bool contains(Key hash) const { return width >= kKeyBits<Key> || ((hash ^ low) >> width) == 0; }
  __device__ Key relative(Key hash) const {
    return width >= kKeyBits<Key> ? hash : hash & ((Key{1} << width) - 1);
  }
};

template <class Key, int Words>
class ListCounter {
 public:
  using Tile = CountTile<Key>;
  using Table = table::WarpDrive<Tile>;

  __device__ ListCounter(const CountTask<Key, Words>& task, const CountedView<Key>& run, bool has_run,
                         std::uint32_t slot_bits, BlockState<Key>& state, char* shared)
      : task_(task),
        run_(run),
        has_run_(has_run),
        hash_(task.k),
        state_(state),
        slot_bits_(slot_bits),
        slots_{reinterpret_cast<Key*>(shared),
               reinterpret_cast<std::uint32_t*>(shared + (sizeof(Key) << slot_bits))},
        scratch_(reinterpret_cast<WarpScratch<Words>*>(
            shared + ((sizeof(Key) + sizeof(std::uint32_t)) << slot_bits))[threadIdx.x / 32]),
        lane_(threadIdx.x % 32) {}

  __device__ void count(std::uint32_t list, std::uint32_t split_bits) {
    list_ = list;
    locate();
    // Nothing wraps when there are not enough occurrences.
    may_wrap_ = has_run_ || task_.list_kmers[list] >> 32 != 0;
    const std::uint32_t key_bits = 2 * task_.k;
    const std::uint32_t width = key_bits - min(split_bits, key_bits);
    if (width == key_bits && build({0, key_bits})) {
      reserve(measure({0, key_bits}));
      emit({0, key_bits});
    } else {
      std::uint64_t kept = 0;
      clear_ranges();
      const std::uint32_t widest = min(width, key_bits - 1);
      for_each_part(widest, [&](const HashRange<Key>& part) { kept += measure(part); });
      reserve(kept);
      for_each_part(widest, [&](const HashRange<Key>& part) { emit(part); });
    }
    finish_list();
  }

  /// What the block noted goes to the device's histogram.
  __device__ void flush() {
    if (!task_.final || threadIdx.x >= kSmallBins || seen_ == 0) return;
    atomicAdd(task_.histogram.bins + threadIdx.x, static_cast<unsigned long long>(seen_));
  }

 private:
  [[nodiscard]] __device__ std::uint32_t slots() const { return 1u << slot_bits_; }

  __device__ void locate() {
    if (threadIdx.x == 0) {
      std::uint32_t sum = 0;
      for (std::uint32_t s = 0; s < task_.segment_count; ++s) {
        const std::uint32_t* offsets = task_.segments[s].offsets + list_;
        sum += offsets[1] - offsets[0];
        state_.segment_ends[s] = sum;
      }
    }
    for (std::uint32_t i = threadIdx.x; i < kSmallBins; i += blockDim.x) state_.small_bins[i] = 0;
    clear_ranges();
  }

  __device__ void clear_ranges() {
    __syncthreads();
    if (threadIdx.x < kRanges) state_.range_sizes[threadIdx.x] = 0;
    __syncthreads();
  }

  /// Calls `take` after each part has been built. Parts that do not fit are halved; where they are nearly
  /// empty again, they grow, up to 2^widest hashes, fewer than all.
  template <class Take>
  __device__ void for_each_part(std::uint32_t widest, Take&& take) {
    std::uint32_t width = widest;
    Key low = 0;
    for (;;) {
      if (!build({low, width})) {
        --width;  // a part of one hash always fits
        continue;
      }
      take(HashRange<Key>{low, width});
      low += Key{1} << width;
      if ((low & key_mask<Key>(task_.k)) == 0) return;
      if (state_.size <= slots() / 4 && width < widest && ((low >> width) & 1) == 0) ++width;
    }
  }

  /// Fills the table with the k-mers of a part; false when they are too many.
  __device__ bool build(const HashRange<Key>& part) {
    __syncthreads();
    clear_table();
    if (threadIdx.x < kRanges) state_.fresh_ranges[threadIdx.x] = 0;
    if (threadIdx.x == 0) {
      state_.full = false;
      state_.size = 0;
      state_.empty_key_count = 0;
      state_.carries = 0;
    }
    __syncthreads();
    if (may_wrap_) {
      insert_pending<true, false>(part);
    } else if (part.width == 2 * task_.k) {
      insert_pending<false, true>(part);
    } else {
      insert_pending<false, false>(part);
    }
    if (has_run_) insert_run(part);
    __syncthreads();
    return !state_.full;
  }

  __device__ void clear_table() {
    auto* keys = reinterpret_cast<uint4*>(slots_.keys);
    auto* counts = reinterpret_cast<uint4*>(slots_.counts);
    for (std::uint32_t i = threadIdx.x; i < slots() * sizeof(Key) / 16; i += blockDim.x)
      keys[i] = {~0u, ~0u, ~0u, ~0u};  // empty keys
    for (std::uint32_t i = threadIdx.x; i < slots() / 4; i += blockDim.x) counts[i] = {0, 0, 0, 0};
  }

  [[nodiscard]] __device__ Table table(const HashRange<Key>& part) const {
    // A narrow part has fewer windows than the table.
    const std::uint32_t window_bits = slot_bits_ - (31 - __clz(Tile::kWidth));
    return Table(slots_, min(window_bits, part.width), part.width);
  }

  /// The same answer for all lanes of a warp, whoever of them finds the table full meanwhile.
  [[nodiscard]] __device__ bool is_full() const {
    return __any_sync(~0u, *const_cast<const volatile bool*>(&state_.full) ? 1 : 0) != 0;
  }

  /// `whole`: the part is all there is.
  template <bool may_wrap, bool whole>
  __device__ void insert_pending(const HashRange<Key>& part) {
    const Table table = this->table(part);
    const std::uint32_t words = task_.segment_count == 0 ? 0 : state_.segment_ends[task_.segment_count - 1];
    if (words == 0) return;
    // At most 32 words at a time, and as many for every warp: all of them wait for the last.
    const std::uint32_t warps = blockDim.x / 32, rounds = (words + blockDim.x - 1) / blockDim.x;
    const std::uint32_t at_once = (words + rounds * warps - 1) / (rounds * warps);
    for (std::uint32_t first = threadIdx.x / 32 * at_once; first < words; first += warps * at_once) {
      if (is_full()) return;
      const std::uint32_t kmers = load_words(first, min(first + at_once, words));
      std::uint32_t fresh = 0, words_before = 0;
      for (std::uint32_t t = lane_; t - lane_ < kmers; t += 32) {
        const std::uint32_t bits = scratch_.begin_bits[t / 32];
        if (t < kmers) {
          const std::uint32_t word = words_before + __popc(bits & (~0u >> (31 - lane_))) - 1;
          const Key hash = hash_of(word, t);
          if constexpr (whole) {
            insert<may_wrap>(table, hash, hash, 1, fresh);
          } else {
            if (part.contains(hash)) insert<may_wrap>(table, hash, part.relative(hash), 1, fresh);
          }
        }
        words_before += __popc(bits);
      }
      note_fresh(fresh);
    }
  }

  __device__ void insert_run(const HashRange<Key>& part) {
    const Table table = this->table(part);
    const std::uint64_t begin = run_.begins[list_ - run_.first_list];
    const std::uint32_t n = run_.ranges_of(list_)[kRanges];
    for (std::uint32_t first = threadIdx.x / 32 * 32; first < n; first += blockDim.x) {
      if (is_full()) return;
      std::uint32_t fresh = 0;
      if (first + lane_ < n) {
        const Key hash = run_.keys[begin + first + lane_];
        if (part.contains(hash)) {
          std::uint64_t count = run_.counts[begin + first + lane_];
          if (count == kBigCount) count = run_.big.find(hash, list_, ~0u);
          if (count >> 32 != 0) carry(part.relative(hash), count >> 32 << 32);
          insert<true>(table, hash, part.relative(hash), static_cast<std::uint32_t>(count), fresh);
        }
      }
      note_fresh(fresh);
    }
  }

  /// Without `may_wrap` nobody waits for the count before.
  template <bool may_wrap>
  __device__ void insert(const Table& table, Key hash, Key relative, std::uint32_t n, std::uint32_t& fresh) {
    if (relative == table::kEmptyKey<Key>) {
      atomicAdd(&state_.empty_key_count, static_cast<unsigned long long>(n));
      return;
    }
    const table::Insertion done = table.insert(tile_, relative, n);
    if (done.is_new) {
      ++fresh;
      atomicAdd(&state_.fresh_ranges[range_of(hash)], 1u);
    }
    if (!done.placed) state_.full = true;
    if constexpr (may_wrap) {
      if (done.wrapped) carry(relative, std::uint64_t{1} << 32);
    }
  }

  /// Notes what a 32-bit count cannot hold.
  __device__ void carry(Key relative, std::uint64_t count) {
    if (relative == table::kEmptyKey<Key>) {
      atomicAdd(&state_.empty_key_count, static_cast<unsigned long long>(count));
      return;
    }
    const std::uint32_t at = atomicAdd(&state_.carries, 1u);
    if (at < kMostCarries) {
      state_.carry_keys[at] = relative;
      state_.carry_counts[at] = count;
    } else {
      *task_.fault = CountFault::too_many_carries;
    }
  }

  /// A table is full when its last slots would cost too many probes.
  __device__ void note_fresh(std::uint32_t fresh) {
    fresh = __reduce_add_sync(~0u, fresh);
    if (lane_ == 0 && fresh > 0 && atomicAdd(&state_.size, fresh) + fresh > slots() / 16 * 15)
      state_.full = true;
  }

  /// Loads the list's words from `first` to the one before `end`, at most 32, and finds out which k-mer
  /// belongs to which. Returns their k-mers.
  __device__ std::uint32_t load_words(std::uint32_t first, std::uint32_t end_of_words) {
    const std::uint32_t i = first + lane_;
    std::uint32_t kmers = 0;
    SuperKmer<Words> word{};
    if (i < end_of_words) {
      std::uint32_t segment = 0, before = 0;
      while (state_.segment_ends[segment] <= i) before = state_.segment_ends[segment++];
      const SegmentView<Words> view = task_.segments[segment];
      const auto* from = reinterpret_cast<const uint4*>(view.words + view.offsets[list_] + (i - before));
      auto* to = reinterpret_cast<uint4*>(&word);
#pragma unroll
      for (int w = 0; w < Words / 2; ++w) to[w] = __ldcs(from + w);
      kmers = word.kmers();
    }
    const std::uint32_t end = warp_inclusive_sum(kmers);
    const std::uint32_t total = __shfl_sync(~0u, end, 31);
    __syncwarp();  // nobody reads the words before any more
    for (std::uint32_t b = lane_; b < (total + 31) / 32; b += 32) scratch_.begin_bits[b] = 0;
    const SuperKmerReader<Key, Words> reader(word, task_.k);
#pragma unroll
    for (int w = 0; w < Words; ++w) {
      scratch_.forward[2 * w][lane_] = static_cast<std::uint32_t>(reader.forward_words()[w]);
      scratch_.forward[2 * w + 1][lane_] = static_cast<std::uint32_t>(reader.forward_words()[w] >> 32);
      scratch_.reverse[2 * w][lane_] = static_cast<std::uint32_t>(reader.reverse_words()[w]);
      scratch_.reverse[2 * w + 1][lane_] = static_cast<std::uint32_t>(reader.reverse_words()[w] >> 32);
    }
    scratch_.begins[lane_] = static_cast<std::uint16_t>(end - kmers);
    scratch_.ends[lane_] = static_cast<std::uint16_t>(end);
    __syncwarp();
    if (kmers > 0) atomicOr(&scratch_.begin_bits[(end - kmers) / 32], 1u << ((end - kmers) % 32));
    __syncwarp();
    return total;
  }

  __device__ Key hash_of(std::uint32_t word, std::uint32_t t) const {
    const Key forward = extract(scratch_.forward, word, 2u * (scratch_.ends[word] - 1 - t));
    if (!task_.canonical) return hash_(forward);
    const Key reverse = extract(scratch_.reverse, word, 2u * (t - scratch_.begins[word]));
    return hash_(forward < reverse ? forward : reverse);
  }

  /// The bits of a word from `shift` on, as many as a k-mer has: SuperKmerReader's `extract`, from 32-bit
  /// pieces in shared memory.
  __device__ Key extract(const std::uint32_t (&words)[2 * Words][32], std::uint32_t word,
                         std::uint32_t shift) const {
    const std::uint32_t from = shift / 32;
    const auto piece = [&](std::uint32_t i) {
      // 64-bit keys are never so far behind that the last piece is missed.
      return sizeof(Key) == 8 || from + i < 2 * Words ? words[from + i][word] : 0;
    };
    const auto bits = [&](std::uint32_t low, std::uint32_t middle, std::uint32_t high) {
      return std::uint64_t{__funnelshift_r(low, middle, shift)} |
             std::uint64_t{__funnelshift_r(middle, high, shift)} << 32;
    };
    const std::uint32_t middle = piece(2);
    const std::uint64_t low = bits(piece(0), piece(1), middle);
    if constexpr (sizeof(Key) == 8) {
      return low & hash_.mask;
    } else {
      return ((Key{bits(middle, piece(3), piece(4))} << 64) | low) & hash_.mask;
    }
  }

  /// An entry of the table, whose slots are followed by one for the hash that marks empty slots.
  struct Entry {
    bool present;
    Key hash;
    std::uint64_t count;
  };
  /// `plain`: as `is_plain` says.
  template <bool plain>
  __device__ Entry entry(const HashRange<Key>& part, std::uint32_t slot) const {
    if (!plain && slot == slots())
      return {state_.empty_key_count > 0, table::kEmptyKey<Key>, state_.empty_key_count};
    const Key relative = slots_.keys[slot];
    std::uint64_t count = slots_.counts[slot];
    if constexpr (!plain) {
      const std::uint32_t carries = min(state_.carries, kMostCarries);
      for (std::uint32_t i = 0; i < carries; ++i) {
        if (state_.carry_keys[i] == relative) count += state_.carry_counts[i];
      }
    }
    return {relative != table::kEmptyKey<Key>, part.low | relative, count};
  }
  /// Whether all k-mers are in slots, with counts as they are there.
  [[nodiscard]] __device__ bool is_plain() const {
    return state_.carries == 0 && state_.empty_key_count == 0;
  }
  [[nodiscard]] __device__ bool keeps_all() const {
    return task_.min_count <= 1 && task_.max_count == UINT64_MAX;
  }
  [[nodiscard]] __device__ bool keeps(const Entry& entry) const {
    return entry.present && entry.count >= task_.min_count && entry.count <= task_.max_count;
  }
  [[nodiscard]] __device__ std::uint32_t range_of(Key hash) const {
    return static_cast<std::uint32_t>(hash >> (2 * task_.k - kRangeBits));
  }

  /// Counts the k-mers to be kept, by range.
  __device__ std::uint32_t measure(const HashRange<Key>& part) {
    if (keeps_all()) return measure_all();
    std::uint32_t mine = 0;
    for (std::uint32_t slot = threadIdx.x; slot <= slots(); slot += blockDim.x) {
      const Entry e = entry<false>(part, slot);
      if (!keeps(e)) continue;
      ++mine;
      atomicAdd(&state_.range_sizes[range_of(e.hash)], 1u);
    }
    return block_sum(mine);
  }

  /// The same where everything is kept: counted when it was inserted.
  __device__ std::uint32_t measure_all() {
    std::uint32_t mine = 0;
    if (threadIdx.x < kRanges) {
      mine = state_.fresh_ranges[threadIdx.x];
      if (threadIdx.x == kRanges - 1 && state_.empty_key_count > 0) ++mine;  // all ones: the last range
      state_.range_sizes[threadIdx.x] += mine;
    }
    return block_sum(mine);
  }

  __device__ std::uint32_t block_sum(std::uint32_t mine) {
    __shared__ std::uint32_t total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    mine = __reduce_add_sync(~0u, mine);
    if (lane_ == 0) atomicAdd(&total, mine);
    __syncthreads();
    const std::uint32_t sum = total;
    __syncthreads();
    return sum;
  }

  /// Takes room for the list's entries and lays out its ranges.
  __device__ void reserve(std::uint64_t kept) {
    if (threadIdx.x == 0) {
      const unsigned long long begin = atomicAdd(task_.out_size, static_cast<unsigned long long>(kept));
      state_.out_begin = begin;
      if (task_.out_capacity > 0) {
        if (begin + kept > task_.out_capacity) *task_.fault = CountFault::output_full;
        task_.out.begins[list_ - task_.out.first_list] = begin;
      }
    }
    if (threadIdx.x / 32 == 1) lay_out_ranges();
    __syncthreads();
    if (task_.out_capacity == 0) return;
    std::uint32_t* ranges = task_.out.ranges + std::size_t{list_ - task_.out.first_list} * (kRanges + 1);
    if (threadIdx.x < kRanges) ranges[threadIdx.x] = state_.range_cursors[threadIdx.x];
    if (threadIdx.x == 0) ranges[kRanges] = static_cast<std::uint32_t>(kept);
    __syncthreads();
  }

  /// Range sizes to offsets, by one warp; each lane has some neighbours.
  __device__ void lay_out_ranges() {
    constexpr std::uint32_t kEach = kRanges / 32;
    std::uint32_t sum = 0;
#pragma unroll
    for (std::uint32_t i = 0; i < kEach; ++i) sum += state_.range_sizes[kEach * lane_ + i];
    std::uint32_t begin = warp_inclusive_sum(sum) - sum;
#pragma unroll
    for (std::uint32_t i = 0; i < kEach; ++i) {
      state_.range_cursors[kEach * lane_ + i] = begin;
      begin += state_.range_sizes[kEach * lane_ + i];
    }
  }

  __device__ void emit(const HashRange<Key>& part) {
    if (is_plain() && keeps_all()) {
      emit_entries<true>(part, slots());
    } else {
      emit_entries<false>(part, slots() + 1);
    }
  }
  template <bool plain>
  __device__ void emit_entries(const HashRange<Key>& part, std::uint32_t end) {
    const bool fits =
        task_.out_capacity > 0 && *const_cast<const volatile CountFault*>(task_.fault) == CountFault::none;
    std::uint32_t ones = 0;
    for (std::uint32_t slot = threadIdx.x; slot < end; slot += blockDim.x) {
      const Entry e = entry<plain>(part, slot);
      if (!e.present) continue;
      const bool kept = plain || keeps(e);
      if (task_.final && e.count > 1) note(e.count, kept);
      ones += e.count == 1 ? 1 : 0;
      // The table is nearly in the order of hashes: neighbours write to neighbouring places.
      if (fits && kept) write(state_.out_begin + atomicAdd(&state_.range_cursors[range_of(e.hash)], 1u), e);
    }
    ones = __reduce_add_sync(~0u, ones);
    if (lane_ == 0 && ones > 0) atomicAdd(&state_.small_bins[1], ones);
  }

  __device__ void write(std::uint64_t at, const Entry& e) {
    task_.out.keys[at] = e.hash;
    if (e.count < kBigCount) {
      task_.out.counts[at] = static_cast<std::uint32_t>(e.count);
      return;
    }
    task_.out.counts[at] = kBigCount;
    const std::uint32_t number = atomicAdd(task_.out.big.size, 1u);
    if (number < kMostBigCounts) task_.out.big.entries[number] = {e.hash, e.count, list_};
  }

  /// Takes note of the count of a k-mer that occurs more than once.
  __device__ void note(std::uint64_t count, bool kept) {
    if (count < kSmallBins) {
      atomicAdd(&state_.small_bins[count], 1u);
      return;
    }
    if (count < CountHistogram::kBins) {
      atomicAdd(task_.histogram.bins + count, 1ull);
    } else {
      task_.histogram.large[atomicAdd(task_.histogram.large_size, 1u)] = count;
    }
    if (kept) atomicAdd(widths() + (64 - __clzll(static_cast<long long>(count))), 1u);
  }

  [[nodiscard]] __device__ std::uint32_t* widths() const {
    const std::uint32_t shard_shift = task_.list_bits - task_.shard_bits;
    return task_.widths + std::size_t{(list_ >> shard_shift) - (task_.first_list >> shard_shift)} * kWidths;
  }

  /// The list's small counts go to the block's histogram, which lives in registers, and to the widths.
  __device__ void finish_list() {
    __syncthreads();
    if (!task_.final || threadIdx.x >= kSmallBins) return;
    const std::uint32_t count = threadIdx.x, n = state_.small_bins[count];
    seen_ += n;
    const bool kept = count >= task_.min_count && count <= task_.max_count;
    if (n > 0 && kept) atomicAdd(widths() + (32 - __clz(static_cast<int>(count))), n);
  }

  const CountTask<Key, Words>& task_;
  const CountedView<Key>& run_;
  bool has_run_;
  KmerHash<Key> hash_;
  BlockState<Key>& state_;
  std::uint32_t slot_bits_;
  table::Slots<Key> slots_;
  WarpScratch<Words>& scratch_;
  std::uint32_t lane_;
  Tile tile_{cg::tiled_partition<1>(cg::this_thread_block())};
  std::uint32_t list_ = 0;
  bool may_wrap_ = false;
  std::uint64_t seen_ = 0;  ///< of the count that is the thread's number
};

template <class Key, int Words>
__global__ __launch_bounds__(kMostThreads, kLeastBlocks<Key>) void count_kernel(
    const __grid_constant__ CountTask<Key, Words> task, const __grid_constant__ CountedView<Key> run,
    bool has_run, CountTuning tuning) {
  extern __shared__ __align__(32) char shared[];
  __shared__ BlockState<Key> state;
  ListCounter<Key, Words> counter(task, run, has_run, tuning.slot_bits, state, shared);
  for (;;) {
    if (threadIdx.x == 0) state.list = atomicAdd(task.next, 1u);
    __syncthreads();
    const std::uint32_t number = state.list;
    __syncthreads();
    if (number >= task.lists) break;
    counter.count(task.first_list + number, tuning.split_bits);
  }
  counter.flush();
}

template <class Key, int Words>
std::size_t shared_bytes(std::uint32_t slot_bits, std::uint32_t threads) {
  return ((sizeof(Key) + sizeof(std::uint32_t)) << slot_bits) + threads / 32 * sizeof(WarpScratch<Words>);
}

/// Enough threads to keep a multiprocessor busy with as many tables as fit it.
std::uint32_t threads_for(std::uint32_t slot_bits) { return slot_bits <= 11 ? 256 : kMostThreads; }

}  // namespace

template <class Key, int Words>
std::uint32_t largest_slot_bits() {
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, count_kernel<Key, Words>), "looking at the counting kernel");
  const std::size_t limit = shared_limit() - attributes.sharedSizeBytes;
  std::uint32_t bits = 10;
  while (shared_bytes<Key, Words>(bits + 1, threads_for(bits + 1)) <= limit) ++bits;
  return bits;
}

template <class Key, int Words>
void launch_count(const CountTask<Key, Words>& task, const CountTuning& tuning, cudaStream_t stream) {
  if (task.lists == 0) return;
  const std::uint32_t threads = threads_for(tuning.slot_bits);
  const std::size_t bytes = shared_bytes<Key, Words>(tuning.slot_bits, threads);
  const std::uint32_t grid = std::min(task.lists, persistent_grid(count_kernel<Key, Words>, threads, bytes));
  fill_bytes(task.next, 0, 1, stream);
  const CountedView<Key> run = task.run == nullptr ? CountedView<Key>{} : *task.run;
  count_kernel<Key, Words><<<grid, threads, bytes, stream>>>(task, run, task.run != nullptr, tuning);
  check_launch("counting");
}

template std::uint32_t largest_slot_bits<Key64, 2>();
template std::uint32_t largest_slot_bits<Key128, 2>();
template std::uint32_t largest_slot_bits<Key128, 4>();
template void launch_count(const CountTask<Key64, 2>&, const CountTuning&, cudaStream_t);
template void launch_count(const CountTask<Key128, 2>&, const CountTuning&, cudaStream_t);
template void launch_count(const CountTask<Key128, 4>&, const CountTuning&, cudaStream_t);

}  // namespace warpmer::gpu
