#pragma once
/// A block counts a bin: it expands the super-k-mers, evenly over all lanes, and inserts the hashes of the
/// k-mers into a table in shared memory, WarpDrive's or another. Bins that are too large for
/// the table are counted in larger ones afterwards, and what is too large for these in parts, by hash range,
/// in increasing order; so a bin can be of any size, and a table never hangs. The files count_*.cu include
/// this; each has the kernels of one table.

#include <algorithm>

#include "kernels/count/bin_output.cuh"
#include "kernels/count/count.cuh"
#include "kernels/count/count_kernels.cuh"
#include "kernels/count/expand.cuh"
#include "kernels/count/hash_range.cuh"
#include "kernels/memory/persistent_grid.cuh"
#include "kernels/warps/tile_cuda.cuh"
#include "table/warpdrive.h"

namespace warpmer::gpu {

namespace {

/// A WarpDrive table: each lane inserts for itself. BinCounter owns the slots, which hold hashes. (Slots of 8
/// bytes that hold the position of a wide k-mer in its bin leave room for more blocks, but were measured to
/// be slower by 1.5 to 3.)
template <class Key>
struct BlockWindows {
  static constexpr bool kTogether = false;
  static constexpr std::uint32_t kLeastBlocks = sizeof(Key) == 8 ? 3 : 2;
  __device__ BlockWindows(char* /*shared*/, std::uint32_t /*slot_bits*/, std::uint32_t& /*size*/) {}
};

/// One lane looks at 32 bytes of keys. (Measured: 16 bytes cost more probes than they save instructions.)
template <class Key>
using CountTile = CudaTile<Key, 1, 32 / static_cast<int>(sizeof(Key))>;

constexpr std::uint32_t kMostThreads = 512;

template <class Key, int Words>
struct BlockState {
  std::uint32_t bin;
  BinLocator<Words> places;
  bool full;
  std::uint32_t size;
  unsigned long long out_begin;
  std::uint32_t written;  ///< entries, from there
  std::uint32_t small_counts[BinOutput<Key, Words>::kSmallCounts];
  CountsBeside<Key, 128> beside;
};

/// The shared memory of a block, piece by piece: the table, and the words that each warp expands.
template <class Key, int Words>
struct BlockLayout {
  std::size_t scratch, bytes;

  __host__ __device__ BlockLayout(std::uint32_t slot_bits, std::uint32_t threads)
      : scratch((sizeof(Key) + sizeof(std::uint32_t)) << slot_bits),
        bytes(scratch + threads / 32 * sizeof(ExpandScratch<Words>)) {}
};

/// `Store` is BlockWindows, or another table with the interface of BlockBuckets. Blocks have a multiple of
/// 32 threads; kLeastBlocks of them fit a multiprocessor, and registers are given out accordingly.
template <class Key, int Words, class Store>
class BinCounter {
 public:
  using Tile = CountTile<Key>;
  using Table = table::WarpDrive<Tile>;
  using Output = BinOutput<Key, Words>;
  using Entry = CountedHash<Key>;

  __device__ BinCounter(const CountTask<Key, Words>& task, const CountedView<Key>& run, bool has_run,
                        std::uint32_t slot_bits, BlockState<Key, Words>& state, char* shared)
      : task_(task),
        run_(run),
        has_run_(has_run),
        state_(state),
        output_(task, state.small_counts),
        slot_bits_(slot_bits),
        layout_(slot_bits, blockDim.x),
        slots_{reinterpret_cast<Key*>(shared),
               reinterpret_cast<std::uint32_t*>(shared + (sizeof(Key) << slot_bits))},
        expander_(reinterpret_cast<ExpandScratch<Words>*>(shared + layout_.scratch)[threadIdx.x / 32], task.k,
                  task.canonical),
        lane_(threadIdx.x % 32),
        store_(shared, slot_bits, state.size) {}

  /// Returns false if the k-mers do not fit one table, and nothing was done, because `leaves_crowded`.
  __device__ bool count(std::uint32_t bin, std::uint32_t split_bits, bool leaves_crowded) {
    const unsigned long long pending = pending_kmers(task_, bin);
    if (pending + (has_run_ ? run_.size_of(bin) : 0) > task_.longest) return true;
    bin_ = bin;
    output_.set_bin(bin);
    locate();
    // Nothing wraps when there are not enough occurrences.
    may_wrap_ = has_run_ || pending >> 32 != 0;
    const std::uint32_t key_bits = 2 * task_.k;
    const std::uint32_t width = key_bits - min(split_bits, key_bits);
    if (width == key_bits && build({0, key_bits})) {
      reserve(measure({0, key_bits}));
      emit({0, key_bits});
    } else if (leaves_crowded) {
      return false;
    } else {
      std::uint64_t kept = 0;
      const std::uint32_t widest = min(width, key_bits - 1);
      for_each_part(widest, [&](const HashRange<Key>& part) { kept += measure(part); });
      reserve(kept);
      for_each_part(widest, [&](const HashRange<Key>& part) { emit(part); });
    }
    finish_bin();
    return true;
  }

  /// Adds the counts that the block noted to the device's histogram.
  __device__ void flush() {
    if (!task_.final || threadIdx.x >= Output::kSmallCounts || seen_ == 0) return;
    atomicAdd(task_.histogram.tallies + threadIdx.x, static_cast<unsigned long long>(seen_));
  }

 private:
  [[nodiscard]] __device__ std::uint32_t slots() const {
    if constexpr (Store::kTogether) {
      return store_.entries();
    } else {
      return 1u << slot_bits_;
    }
  }

  __device__ void locate() {
    state_.places.locate(task_.segments, task_.segment_count, bin_ << task_.bin_shift, 1u << task_.bin_shift);
    for (std::uint32_t i = threadIdx.x; i < Output::kSmallCounts; i += blockDim.x) state_.small_counts[i] = 0;
    __syncthreads();
  }

  /// Calls `take` after each part has been built.
  template <class Take>
  __device__ void for_each_part(std::uint32_t widest, Take&& take) {
    PartWalk<Key> walk(task_.k, widest);
    for (;;) {
      if (!build(walk.part())) {
        walk.halve();
        continue;
      }
      take(walk.part());
      if (!walk.go_on(state_.size <= slots() / 4)) return;
    }
  }

  /// Fills the table with the k-mers of a part; returns false when they are too many.
  __device__ bool build(const HashRange<Key>& part) {
    __syncthreads();
    if constexpr (Store::kTogether) {
      store_.begin(part.width);
    } else {
      clear_table();
    }
    if (threadIdx.x == 0) {
      state_.full = false;
      state_.size = 0;
      state_.beside.empty_key_count = 0;
      state_.beside.carries = 0;
    }
    __syncthreads();
    if constexpr (Store::kTogether) {
      insert_together(part);
      return __syncthreads_or(state_.full ? 1 : 0) == 0;
    } else {
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

  /// All lanes of a warp get the same answer, whichever of them finds the table full meanwhile.
  [[nodiscard]] __device__ bool is_full() const {
    return __any_sync(~0u, *const_cast<const volatile bool*>(&state_.full) ? 1 : 0) != 0;
  }

  /// `whole`: the part is the whole bin.
  template <bool may_wrap, bool whole>
  __device__ void insert_pending(const HashRange<Key>& part) {
    const Table table = this->table(part);
    const BinWords<Words> words(state_.places);
    if (words.size() == 0) return;
    // At most 32 words at a time, and the same number for every warp, because all warps wait for the last.
    const std::uint32_t warps = blockDim.x / 32, rounds = (words.size() + blockDim.x - 1) / blockDim.x;
    const std::uint32_t at_once = (words.size() + rounds * warps - 1) / (rounds * warps);
    for (std::uint32_t first = threadIdx.x / 32 * at_once; first < words.size(); first += warps * at_once) {
      if (is_full()) return;
      std::uint32_t fresh = 0;
      expander_.for_each(words, first, min(first + at_once, words.size()),
                         [&](bool there, Key hash, std::uint32_t /*word*/, std::uint32_t /*offset*/) {
                           if (there && (whole || part.contains(hash)))
                             insert<may_wrap>(table, whole ? hash : part.relative(hash), 1, fresh);
                         });
      note_fresh(fresh);
    }
  }

  __device__ void insert_run(const HashRange<Key>& part) {
    const Table table = this->table(part);
    const std::uint64_t begin = run_.begins[bin_ - run_.first_bin];
    const std::uint32_t n = run_.size_of(bin_);
    for (std::uint32_t first = threadIdx.x / 32 * 32; first < n; first += blockDim.x) {
      if (is_full()) return;
      std::uint32_t fresh = 0;
      if (first + lane_ < n) {
        const Key hash = run_.keys[begin + first + lane_];
        if (part.contains(hash)) {
          std::uint64_t count = run_.counts[begin + first + lane_];
          if (count == kBigCount) count = run_.big.find(hash, bin_, ~0u);
          if (count >> 32 != 0) carry(part.relative(hash), count >> 32 << 32);
          insert<true>(table, part.relative(hash), static_cast<std::uint32_t>(count), fresh);
        }
      }
      note_fresh(fresh);
    }
  }

  // --- Tables in which lanes insert together: all threads of the block go through the same number of rounds,
  // in as many passes as the table needs.

  __device__ void insert_together(const HashRange<Key>& part) {
    for (int pass = 0; pass < Store::kPasses; ++pass) {
      const int is_full = __syncthreads_or(state_.full ? 1 : 0);  // all threads are done with the pass before
      if (is_full != 0) return;
      insert_words_together(pass, part);
      if (has_run_) insert_run_together(pass, part);
    }
    store_.finish(carry_one());
  }

  __device__ void insert_words_together(int pass, const HashRange<Key>& part) {
    const BinWords<Words> words(state_.places);
    if (words.size() == 0) return;
    const std::uint32_t warps = blockDim.x / 32, rounds = (words.size() + blockDim.x - 1) / blockDim.x;
    const std::uint32_t most_kmers = max_kmers_per_word<Words>(task_.k);
    // The same number for every warp, at most 32, and at most what the table takes in a round.
    const std::uint32_t at_once = min((words.size() + rounds * warps - 1) / (rounds * warps),
                                      max(1u, store_.most_in_a_round() / (warps * most_kmers)));
    for (std::uint32_t before = 0; before < words.size(); before += warps * at_once) {
      if (!may_go_on(warps * at_once * most_kmers)) return;
      const std::uint32_t first = min(before + threadIdx.x / 32 * at_once, words.size());
      std::uint32_t fresh = 0;
      expander_.for_each(words, first, min(first + at_once, words.size()),
                         [&](bool there, Key hash, std::uint32_t /*word*/, std::uint32_t /*offset*/) {
                           const bool is_mine = there && part.contains(hash);
                           insert_with_others(pass, part, is_mine, hash, 1, fresh);
                         });
      note_fresh(fresh);
    }
  }

  __device__ void insert_run_together(int pass, const HashRange<Key>& part) {
    const std::uint64_t begin = run_.begins[bin_ - run_.first_bin];
    const std::uint32_t n = run_.size_of(bin_);
    const std::uint32_t at_once = min(blockDim.x, store_.most_in_a_round());
    for (std::uint32_t first = 0; first < n; first += at_once) {
      if (!may_go_on(at_once)) return;
      std::uint32_t fresh = 0;
      Key hash{};
      std::uint64_t count = 0;
      bool is_mine = threadIdx.x < at_once && first + threadIdx.x < n;
      if (is_mine) {
        hash = run_.keys[begin + first + threadIdx.x];
        is_mine = part.contains(hash);
      }
      if (is_mine) {
        count = run_.counts[begin + first + threadIdx.x];
        if (count == kBigCount) count = run_.big.find(hash, bin_, ~0u);
        if (pass == 0 && count >> 32 != 0) carry(part.relative(hash), count >> 32 << 32);
      }
      insert_with_others(pass, part, is_mine, hash, static_cast<std::uint32_t>(count), fresh);
      note_fresh(fresh);
    }
  }

  /// True when the table takes so many more; all threads of the block get the same answer.
  __device__ bool may_go_on(std::uint32_t most) {
    if (__syncthreads_or(state_.full ? 1 : 0) != 0) return false;
    const bool has_room = store_.make_room(most, carry_one());
    if (!has_room) state_.full = true;
    return has_room;
  }

  /// All lanes of a warp call this; those with `is_mine` bring a key.
  __device__ void insert_with_others(int pass, const HashRange<Key>& part, bool is_mine, Key hash,
                                     std::uint32_t n, std::uint32_t& fresh) {
    const Key relative = part.relative(hash);
    if (is_mine && relative == table::kEmptyKey<Key>) {
      if (pass == 0) state_.beside.add_empty_key(n);
      is_mine = false;
    }
    __syncwarp();
    const table::Insertion done = store_.insert(pass, is_mine, relative, n);
    if (!is_mine) return;
    fresh += done.is_new ? 1 : 0;
    if (!done.placed) state_.full = true;
    if (done.wrapped) carry(relative, std::uint64_t{1} << 32);
  }

  /// Returns the function that a table calls for a key whose count has passed 2^32.
  __device__ auto carry_one() {
    return [this](Key relative) { carry(relative, std::uint64_t{1} << 32); };
  }

  /// Without `may_wrap` no lane waits for the count before.
  template <bool may_wrap>
  __device__ void insert(const Table& table, Key relative, std::uint32_t n, std::uint32_t& fresh) {
    if (relative == table::kEmptyKey<Key>) return state_.beside.add_empty_key(n);
    const table::Insertion done = table.insert(tile_, relative, n);
    fresh += done.is_new ? 1 : 0;
    if (!done.placed) state_.full = true;
    if constexpr (may_wrap) {
      if (done.wrapped) carry(relative, std::uint64_t{1} << 32);
    }
  }

  __device__ void carry(Key relative, std::uint64_t count) {
    state_.beside.carry(relative, count, task_.fault);
  }

  /// A table is full when its last slots would cost too many probes.
  __device__ void note_fresh(std::uint32_t fresh) {
    fresh = __reduce_add_sync(~0u, fresh);
    if (lane_ == 0 && fresh > 0 && atomicAdd(&state_.size, fresh) + fresh > slots() / 16 * 15)
      state_.full = true;
  }

  /// Returns an entry of the table, whose slots are followed by one for the hash that marks empty slots.
  /// `plain`: all k-mers are in slots, and the slots have their full counts.
  template <bool plain>
  __device__ Entry entry(const HashRange<Key>& part, std::uint32_t slot) const {
    if (!plain && slot == slots())
      return {state_.beside.empty_key_count > 0, table::kEmptyKey<Key>, state_.beside.empty_key_count};
    const table::Slot<Key> in = read(slot);
    const Key relative = in.key;
    std::uint64_t count = in.count;
    if constexpr (!plain) count += state_.beside.carried(relative);
    // Lanes that insert together may leave spare copies of a key, which count nothing.
    const bool counts = !Store::kTogether || count != 0;
    return {counts && relative != table::kEmptyKey<Key>, part.low | relative, count};
  }
  [[nodiscard]] __device__ table::Slot<Key> read(std::uint32_t slot) const {
    if constexpr (Store::kTogether) {
      return store_.entry(slot);
    } else {
      return slots_.read(slot);
    }
  }

  /// Counts the k-mers to be kept.
  __device__ std::uint32_t measure(const HashRange<Key>& part) {
    // If everything is kept, they were counted when they were inserted.
    if (!Store::kTogether && output_.keeps_all())
      return state_.size + (state_.beside.empty_key_count > 0 ? 1 : 0);
    std::uint32_t mine = 0;
    for (std::uint32_t slot = threadIdx.x; slot <= slots(); slot += blockDim.x) {
      mine += output_.keeps(entry<false>(part, slot)) ? 1 : 0;
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

  /// Takes room for the bin's entries.
  __device__ void reserve(std::uint64_t kept) {
    if (threadIdx.x == 0) {
      state_.out_begin = output_.take_room(kept);
      state_.written = 0;
    }
    __syncthreads();
  }

  __device__ void emit(const HashRange<Key>& part) {
    if (state_.beside.is_empty() && output_.keeps_all()) {
      emit_entries<true>(part, slots());
    } else {
      emit_entries<false>(part, slots() + 1);
    }
  }
  template <bool plain>
  __device__ void emit_entries(const HashRange<Key>& part, std::uint32_t end) {
    const bool is_open = output_.is_open();
    std::uint32_t ones = 0;
    for (std::uint32_t slot = threadIdx.x; slot < end; slot += blockDim.x) {
      const Entry e = entry<plain>(part, slot);
      if (!e.present) continue;
      const bool kept = plain || output_.keeps(e);
      if (task_.final && e.count > 1) output_.note(e.count);
      ones += e.count == 1 ? 1 : 0;
      if (is_open && kept) output_.write(state_.out_begin + atomicAdd(&state_.written, 1u), e);
    }
    ones = __reduce_add_sync(~0u, ones);
    if (lane_ == 0 && ones > 0) output_.note_ones(ones);
  }

  /// Adds the bin's small counts to the block's histogram, which lives in registers.
  __device__ void finish_bin() {
    __syncthreads();
    if (!task_.final || threadIdx.x >= Output::kSmallCounts) return;
    seen_ += output_.noted(threadIdx.x);
  }

  const CountTask<Key, Words>& task_;
  const CountedView<Key>& run_;
  bool has_run_;
  BlockState<Key, Words>& state_;
  Output output_;
  std::uint32_t slot_bits_;
  BlockLayout<Key, Words> layout_;
  table::Slots<Key> slots_;
  Expander<Key, Words> expander_;
  std::uint32_t lane_;
  Store store_;
  Tile tile_{cg::tiled_partition<1>(cg::this_thread_block())};
  std::uint32_t bin_ = 0;
  bool may_wrap_ = false;
  std::uint64_t seen_ = 0;  ///< k-mers seen with the count that is the thread's number
};

/// The bins of a task that a kernel counts: all, of which it leaves those that are crowded; or these.
enum class BinPass { all, all_but_crowded, crowded };

template <class Key, int Words, class Store>
__global__ __launch_bounds__(kMostThreads, Store::kLeastBlocks) void count_kernel(
    const __grid_constant__ CountTask<Key, Words> task, const __grid_constant__ CountedView<Key> run,
    bool has_run, std::uint32_t slot_bits, std::uint32_t split_bits, BinPass pass) {
  extern __shared__ __align__(32) char shared[];
  __shared__ BlockState<Key, Words> state;
  BinCounter<Key, Words, Store> counter(task, run, has_run, slot_bits, state, shared);
  const std::uint32_t bins = pass == BinPass::crowded ? *task.crowded.size : task.bins;
  for (;;) {
    if (threadIdx.x == 0) state.bin = atomicAdd(task.next, 1u);
    __syncthreads();
    const std::uint32_t number = state.bin;
    __syncthreads();
    if (number >= bins) break;
    const std::uint32_t bin = pass == BinPass::crowded ? task.crowded.bins[number] : task.first_bin + number;
    if (!counter.count(bin, split_bits, pass == BinPass::all_but_crowded) && threadIdx.x == 0)
      task.crowded.bins[atomicAdd(task.crowded.size, 1u)] = bin;
  }
  counter.flush();
}

/// Returns a number of threads that keeps a multiprocessor busy with as many tables as fit it.
std::uint32_t threads_for(std::uint32_t slot_bits) { return slot_bits <= 11 ? 256 : kMostThreads; }

template <class Key, int Words, class Store>
std::uint32_t largest_slot_bits_in() {
  const DriverLock::Shared use;
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, count_kernel<Key, Words, Store>),
        "looking at the counting kernel");
  const std::size_t limit = shared_limit() - attributes.sharedSizeBytes;
  std::uint32_t bits = 10;
  while (BlockLayout<Key, Words>(bits + 1, threads_for(bits + 1)).bytes <= limit) ++bits;
  return bits;
}

template <class Key, int Words, class Store>
void launch_pass(const CountTask<Key, Words>& task, std::uint32_t slot_bits, std::uint32_t split_bits,
                 BinPass pass, cudaStream_t stream) {
  const auto kernel = count_kernel<Key, Words, Store>;
  const std::uint32_t threads = threads_for(slot_bits);
  const std::size_t bytes = BlockLayout<Key, Words>(slot_bits, threads).bytes;
  const std::uint32_t grid = std::min(task.bins, persistent_grid(kernel, threads, bytes));
  fill_bytes(task.next, 0, 1, stream);
  const CountedView<Key> run = task.run == nullptr ? CountedView<Key>{} : *task.run;
  kernel<<<grid, threads, bytes, DriverLock::Shared(stream)>>>(task, run, task.run != nullptr, slot_bits,
                                                               split_bits, pass);
  check_launch("counting");
}

template <class Key, int Words, class Store>
void launch_count_in(const CountTask<Key, Words>& task, const CountTuning& tuning, cudaStream_t stream) {
  if (task.bins == 0) return;
  const auto launch = [&](std::uint32_t slot_bits, BinPass pass) {
    launch_pass<Key, Words, Store>(task, slot_bits, tuning.split_bits, pass, stream);
  };
  if (tuning.crowded_slot_bits <= tuning.slot_bits) return launch(tuning.slot_bits, BinPass::all);
  fill_bytes(task.crowded.size, 0, 1, stream);
  launch(tuning.slot_bits, BinPass::all_but_crowded);
  launch(tuning.crowded_slot_bits, BinPass::crowded);
}

template <class Key, int Words, class Store>
constexpr CountKernel<Key, Words> kCountKernel = {largest_slot_bits_in<Key, Words, Store>,
                                                  launch_count_in<Key, Words, Store>};

/// The kernels that count in one table.
template <template <class> class StoreFor>
constexpr CountKernels kCountKernels = {kCountKernel<Key64, 2, StoreFor<Key64>>,
                                        kCountKernel<Key128, 2, StoreFor<Key128>>,
                                        kCountKernel<Key128, 4, StoreFor<Key128>>};

}  // namespace

}  // namespace warpmer::gpu
