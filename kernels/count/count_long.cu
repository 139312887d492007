// All blocks count one bin: they share its words, and the table. Where one k-mer is most of a bin, lanes of
// a warp that have the same one add it up first, so that its count is touched once for all of them. Like a
// block's, the table takes parts of a bin, by hash range, where it cannot take all of it.

#include <algorithm>

#include "kernels/count/bin_output.cuh"
#include "kernels/count/count_long.cuh"
#include "kernels/count/expand.cuh"
#include "kernels/memory/persistent_grid.cuh"
#include "kernels/warps/tile_cuda.cuh"
#include "table/warpdrive.h"

namespace warpmer::gpu {

namespace {

template <class Key>
using LongBinTile = CudaTile<Key, 1, 32 / static_cast<int>(sizeof(Key))>;
template <class Key>
using LongBinTable = table::WarpDrive<LongBinTile<Key>>;

constexpr std::uint32_t kLongThreads = 256;
constexpr std::uint32_t kLeastLongSlotBits = 14;
constexpr std::uint32_t kFirstSlotBits = 18;
constexpr std::uint32_t kMostLongSlotBits = 30;  // of slot numbers in 32 bits

/// The argument of all kernels of a bin.
template <class Key, int Words>
struct LongBin {
  CountTask<Key, Words> task;
  CountedView<Key> run;
  bool has_run;
  std::uint32_t bin;
  HashRange<Key> part;
  table::Slots<Key> slots;
  std::uint32_t slot_bits;
  LongBinState<Key>* state;

  [[nodiscard]] __device__ LongBinTable<Key> table() const {
    const std::uint32_t window_bits = slot_bits - (31 - __clz(LongBinTile<Key>::kWidth));
    return LongBinTable<Key>(slots, min(window_bits, part.width), part.width);
  }
  /// More are too many.
  [[nodiscard]] __device__ unsigned long long most_keys() const { return (3ull << slot_bits) / 4; }
};

/// Lanes whose keys are the same as this lane's.
__device__ std::uint32_t lanes_with(Key64 key) { return __match_any_sync(~0u, key); }
__device__ std::uint32_t lanes_with(Key128 key) {
  const std::uint32_t low = __match_any_sync(~0u, static_cast<std::uint64_t>(key));
  const std::uint32_t high = __match_any_sync(~0u, static_cast<std::uint64_t>(key >> 64));
  return low & high;
}

template <class Key, int Words>
class Inserter {
 public:
  __device__ explicit Inserter(const LongBin<Key, Words>& bin)
      : bin_(bin), table_(bin.table()), lane_(threadIdx.x % 32) {}

  /// The same answer for all lanes of a warp.
  [[nodiscard]] __device__ bool is_full() const {
    const std::uint32_t full = *const_cast<const volatile std::uint32_t*>(&bin_.state->full);
    return __any_sync(~0u, full != 0 ? 1 : 0) != 0;
  }

  /// All lanes call together; those that are not `there` have nothing to insert.
  __device__ void insert_together(bool there, Key hash) {
    const bool mine = there && bin_.part.contains(hash);
    const Key relative = bin_.part.relative(hash);
    const std::uint32_t inserting = __ballot_sync(~0u, mine ? 1 : 0);
    const std::uint32_t same = lanes_with(relative) & inserting;
    const bool is_first = __ffs(static_cast<int>(same)) - 1 == static_cast<int>(lane_);
    if (mine && is_first) insert(relative, __popc(same));
  }

  __device__ void insert(Key relative, std::uint32_t n) {
    if (relative == table::kEmptyKey<Key>) return bin_.state->beside.add_empty_key(n);
    const table::Insertion done = table_.insert(tile_, relative, n);
    fresh_ += done.is_new ? 1 : 0;
    if (!done.placed) bin_.state->full = 1;
    if (done.wrapped) carry(relative, std::uint64_t{1} << 32);
  }

  __device__ void carry(Key relative, std::uint64_t count) {
    bin_.state->beside.carry(relative, count, bin_.task.fault);
  }

  /// All lanes call together, from time to time.
  __device__ void note_fresh() {
    const std::uint32_t fresh = __reduce_add_sync(~0u, fresh_);
    fresh_ = 0;
    if (lane_ == 0 && fresh > 0 && atomicAdd(&bin_.state->size, fresh) + fresh > bin_.most_keys())
      bin_.state->full = 1;
  }

 private:
  const LongBin<Key, Words>& bin_;
  LongBinTable<Key> table_;
  LongBinTile<Key> tile_{cg::tiled_partition<1>(cg::this_thread_block())};
  std::uint32_t lane_;
  std::uint32_t fresh_ = 0;
};

template <class Key, int Words>
__global__ __launch_bounds__(kLongThreads) void insert_words_kernel(
    const __grid_constant__ LongBin<Key, Words> bin) {
  __shared__ BinLocator<Words> places;
  __shared__ ExpandScratch<Words> scratch[kLongThreads / 32];
  places.locate(bin.task.segments, bin.task.segment_count, bin.bin, 1);
  __syncthreads();
  const BinWords<Words> words(places);
  Expander<Key, Words> expander(scratch[threadIdx.x / 32], bin.task.k, bin.task.canonical);
  Inserter<Key, Words> inserter(bin);
  const std::uint64_t warp = (std::uint64_t{blockIdx.x} * kLongThreads + threadIdx.x) / 32;
  const std::uint64_t step = std::uint64_t{gridDim.x} * kLongThreads;
  for (std::uint64_t first = warp * 32; first < words.size(); first += step) {
    if (inserter.is_full()) return;
    const auto end = static_cast<std::uint32_t>(min(first + 32, std::uint64_t{words.size()}));
    expander.for_each(words, static_cast<std::uint32_t>(first), end,
                      [&](bool there, Key hash, std::uint32_t /*word*/, std::uint32_t /*offset*/) {
                        inserter.insert_together(there, hash);
                      });
    inserter.note_fresh();
  }
}

template <class Key, int Words>
__global__ __launch_bounds__(kLongThreads) void insert_run_kernel(
    const __grid_constant__ LongBin<Key, Words> bin) {
  Inserter<Key, Words> inserter(bin);
  const std::uint64_t begin = bin.run.begins[bin.bin - bin.run.first_bin];
  const std::uint32_t n = bin.run.size_of(bin.bin);
  const std::uint64_t thread = std::uint64_t{blockIdx.x} * kLongThreads + threadIdx.x;
  for (std::uint64_t first = thread - threadIdx.x % 32; first < n;
       first += std::uint64_t{gridDim.x} * kLongThreads) {
    if (inserter.is_full()) return;
    const std::uint64_t i = first + threadIdx.x % 32;
    if (i < n) {
      const Key hash = bin.run.keys[begin + i];
      if (bin.part.contains(hash)) {
        std::uint64_t count = bin.run.counts[begin + i];
        if (count == kBigCount) count = bin.run.big.find(hash, bin.bin, ~0u);
        const Key relative = bin.part.relative(hash);
        if (count >> 32 != 0) inserter.carry(relative, count >> 32 << 32);
        inserter.insert(relative, static_cast<std::uint32_t>(count));
      }
    }
    inserter.note_fresh();
  }
}

/// An entry of the table, whose slots are followed by one for the hash that marks empty slots.
template <class Key, int Words>
__device__ CountedHash<Key> entry(const LongBin<Key, Words>& bin, std::uint64_t slot) {
  const auto& beside = bin.state->beside;
  if (slot == std::uint64_t{1} << bin.slot_bits)
    return {beside.empty_key_count > 0, table::kEmptyKey<Key>, beside.empty_key_count};
  const Key relative = bin.slots.keys[slot];
  const std::uint64_t count = bin.slots.counts[slot] + beside.carried(relative);
  return {relative != table::kEmptyKey<Key>, bin.part.low | relative, count};
}

/// Adds the number of k-mers to be kept to `kept`.
template <class Key, int Words>
__global__ __launch_bounds__(kLongThreads) void measure_kernel(
    const __grid_constant__ LongBin<Key, Words> bin) {
  const BinOutput<Key, Words> output(bin.task, nullptr);
  std::uint32_t kept = 0;
  const std::uint64_t end = (std::uint64_t{1} << bin.slot_bits) + 1;
  for (std::uint64_t slot = std::uint64_t{blockIdx.x} * kLongThreads + threadIdx.x; slot < end;
       slot += std::uint64_t{gridDim.x} * kLongThreads) {
    kept += output.keeps(entry(bin, slot)) ? 1 : 0;
  }
  kept = __reduce_add_sync(~0u, kept);
  if (threadIdx.x % 32 == 0 && kept > 0) atomicAdd(&bin.state->kept, static_cast<unsigned long long>(kept));
}

/// Takes room for the bin. One block.
template <class Key, int Words>
__global__ void reserve_kernel(const __grid_constant__ LongBin<Key, Words> bin) {
  if (threadIdx.x != 0) return;
  LongBinState<Key>& state = *bin.state;
  BinOutput<Key, Words> output(bin.task, nullptr);
  output.set_bin(bin.bin);
  state.next = output.take_room(state.kept);
}

template <class Key, int Words>
__global__ __launch_bounds__(kLongThreads) void emit_kernel(const __grid_constant__ LongBin<Key, Words> bin) {
  __shared__ std::uint32_t small_counts[BinOutput<Key, Words>::kSmallCounts];
  static_assert(BinOutput<Key, Words>::kSmallCounts == kLongThreads);
  BinOutput<Key, Words> output(bin.task, small_counts);
  output.set_bin(bin.bin);
  small_counts[threadIdx.x] = 0;
  __syncthreads();
  const bool is_open = output.is_open();
  const std::uint64_t end = (std::uint64_t{1} << bin.slot_bits) + 1;
  for (std::uint64_t slot = std::uint64_t{blockIdx.x} * kLongThreads + threadIdx.x; slot < end;
       slot += std::uint64_t{gridDim.x} * kLongThreads) {
    const CountedHash<Key> kmer = entry(bin, slot);
    if (!kmer.present) continue;
    const bool kept = output.keeps(kmer);
    if (kmer.count == 1) {
      output.note_ones(1);
    } else if (bin.task.final) {
      output.note(kmer.count);
    }
    if (is_open && kept) output.write(atomicAdd(&bin.state->next, 1ull), kmer);
  }
  __syncthreads();
  if (!bin.task.final) return;
  const std::uint32_t n = output.noted(threadIdx.x);
  if (n > 0) atomicAdd(bin.task.histogram.tallies + threadIdx.x, static_cast<unsigned long long>(n));
}

template <class Key, int Words>
using BinKernel = void (*)(LongBin<Key, Words>);

template <class Key, int Words>
void launch(BinKernel<Key, Words> kernel, const LongBin<Key, Words>& bin, cudaStream_t stream) {
  kernel<<<persistent_grid(kernel, kLongThreads, 0), kLongThreads, 0, DriverLock::Shared(stream)>>>(bin);
  check_launch("counting a long bin");
}

/// The bin, without a table.
template <class Key, int Words>
LongBin<Key, Words> describe(const CountTask<Key, Words>& task, std::uint32_t bin) {
  return {task,   task.run == nullptr ? CountedView<Key>{} : *task.run, task.run != nullptr, bin, {}, {}, 0,
          nullptr};
}

template <class Key>
constexpr std::uint64_t table_bytes(std::uint32_t slot_bits) {
  return (sizeof(Key) + sizeof(std::uint32_t)) << slot_bits;
}

}  // namespace

template <class Key, int Words>
LongBinCounter<Key, Words>::LongBinCounter(std::uint64_t most_bytes) : most_slot_bits_(kLeastLongSlotBits) {
  while (most_slot_bits_ < kMostLongSlotBits && table_bytes<Key>(most_slot_bits_ + 1) <= most_bytes)
    ++most_slot_bits_;
  slot_bits_ = std::min(kFirstSlotBits, most_slot_bits_);
}

template <class Key, int Words>
std::uint64_t LongBinCounter<Key, Words>::most_bytes() const {
  return table_bytes<Key>(most_slot_bits_) + sizeof(LongBinState<Key>);
}

template <class Key, int Words>
void LongBinCounter<Key, Words>::count(const CountTask<Key, Words>& task, std::uint32_t bin,
                                       cudaStream_t stream) {
  state_.reserve(1);
  slot_bits_ = std::min(kFirstSlotBits, most_slot_bits_);
  fill_bytes(&state_.data()->kept, 0, 1, stream);
  LongBin<Key, Words> described = describe(task, bin);
  const auto use = [&](const HashRange<Key>& part) -> const LongBin<Key, Words>& {
    described.part = part;
    described.slots = {keys_.data(), counts_.data()};
    described.slot_bits = slot_bits_;
    described.state = state_.data();
    return described;
  };
  const auto measure = [&](const HashRange<Key>& part) { launch(measure_kernel, use(part), stream); };
  const auto emit = [&](const HashRange<Key>& part) { launch(emit_kernel, use(part), stream); };
  const HashRange<Key> whole{0, 2 * task.k};
  const bool fits = build(task, bin, whole, stream).fits;
  if (fits) {
    measure(whole);
  } else {
    for_each_part(task, bin, stream, measure);
  }
  reserve_kernel<<<1, 32, 0, DriverLock::Shared(stream)>>>(use(whole));
  check_launch("counting a long bin");
  if (task.out_capacity == 0 && !task.final) return;
  if (fits) {
    emit(whole);
  } else {
    for_each_part(task, bin, stream, emit);
  }
}

/// Calls `take` after each part has been built, in order of hashes.
template <class Key, int Words>
template <class Take>
void LongBinCounter<Key, Words>::for_each_part(const CountTask<Key, Words>& task, std::uint32_t bin,
                                               cudaStream_t stream, Take&& take) {
  PartWalk<Key> walk(task.k, 2 * task.k - 1);
  for (;;) {
    const Built built = build(task, bin, walk.part(), stream);
    if (!built.fits) {
      walk.halve();
      continue;
    }
    take(walk.part());
    if (!walk.go_on(built.size <= std::uint64_t{1} << slot_bits_ >> 2)) return;
  }
}

/// Fills the table with the k-mers of a part. A table that is too small grows while it may.
template <class Key, int Words>
auto LongBinCounter<Key, Words>::build(const CountTask<Key, Words>& task, std::uint32_t bin,
                                       const HashRange<Key>& part, cudaStream_t stream) -> Built {
  for (;;) {
    const Built built = try_build(task, bin, part, stream);
    if (built.fits || slot_bits_ == most_slot_bits_) return built;
    slot_bits_ = std::min(slot_bits_ + 3, most_slot_bits_);
  }
}

template <class Key, int Words>
auto LongBinCounter<Key, Words>::try_build(const CountTask<Key, Words>& task, std::uint32_t bin,
                                           const HashRange<Key>& part, cudaStream_t stream) -> Built {
  const std::size_t slots = std::size_t{1} << slot_bits_;
  keys_.reserve(slots);
  counts_.reserve(slots);
  fill_bytes(keys_.data(), 0xFF, slots, stream);  // empty keys
  fill_bytes(counts_.data(), 0, slots, stream);
  LongBinState<Key>* state = state_.data();
  fill_bytes(&state->full, 0, 1, stream);
  fill_bytes(&state->size, 0, 1, stream);
  fill_bytes(&state->beside.empty_key_count, 0, 1, stream);
  fill_bytes(&state->beside.carries, 0, 1, stream);
  LongBin<Key, Words> described = describe(task, bin);
  described.part = part;
  described.slots = {keys_.data(), counts_.data()};
  described.slot_bits = slot_bits_;
  described.state = state;
  launch(insert_words_kernel, described, stream);
  if (described.has_run) launch(insert_run_kernel, described, stream);
  std::uint32_t full = 0;
  unsigned long long size = 0;
  copy_to_host(&full, &state->full, 1, stream);
  copy_to_host(&size, &state->size, 1, stream);
  check(cudaStreamSynchronize(stream), "counting a long bin");
  return {full == 0, size};
}

template class LongBinCounter<Key64, 2>;
template class LongBinCounter<Key128, 2>;
template class LongBinCounter<Key128, 4>;

}  // namespace warpmer::gpu
