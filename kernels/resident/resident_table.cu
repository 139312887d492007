#include <numeric>
#include <string>
#include <utility>

#include "base/error.h"
#include "groups/group_key.h"
#include "groups/string_walk.h"
#include "kernels/memory/live_error.cuh"
#include "kernels/memory/persistent_grid.cuh"
#include "kernels/memory/scan_memory.cuh"
#include "kernels/resident/resident_table.cuh"
#include "kernels/upload/frozen_shards.cuh"
#include "kernels/upload/index_shard_window.cuh"

namespace warpmer::gpu {

namespace {

using table::kEmptyKey;
using table::Slot;
using table::Slots;

constexpr unsigned kThreads = 256;

/// The counts that the table cannot hold, as kernels note them.
template <class Key>
struct BesideBin {
  CountBeside<Key>* entries;
  std::uint32_t* size;  ///< beyond kMostBeside where there was more

  __device__ void note(Key key, std::uint64_t count) const {
    const std::uint32_t at = atomicAdd(size, 1u);
    if (at < kMostBeside) entries[at] = {key, count};
  }
};

/// A k-mer on its way to its child. What of its count has no room there is noted.
template <class Key>
__device__ Slot<Key> item_of(Key key, std::uint64_t count, const BesideBin<Key>& beside) {
  const std::uint32_t low = key == kEmptyKey<Key> ? 0 : static_cast<std::uint32_t>(count);
  if (count != low) beside.note(key, count - low);
  return {key, low};
}

template <class Key>
__global__ void __launch_bounds__(kThreads)
    counted_items_kernel(CountedView<Key> counted, std::uint64_t n, Slot<Key>* items, BesideBin<Key> beside) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kThreads;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; i < n; i += stride) {
    const Key key = counted.keys[i];
    const std::uint32_t count = counted.counts[i];
    // A k-mer is in one bin only: any will do.
    items[i] = item_of(key, count == kBigCount ? counted.big.find(key, 0, 0) : count, beside);
  }
}

/// The k-mers of a shard of strings, or some of them: those whose hashes leave `turn` of `turns`.
template <class Key>
struct FrozenItemsTask {
  groups::GroupKeys<Key, Key> keys;
  groups::ShardBits shard;
  std::uint32_t number;
  bool is_canonical;
  std::uint32_t turn, turns;
  Slot<Key>* items;
  std::uint32_t room;
  std::uint32_t* taken;  ///< how many there are, also beyond the room
  BesideBin<Key> beside;
  std::uint32_t* damaged;

  __device__ void put(std::uint32_t rest, groups::FlankLengths lengths, groups::BitCursor bases,
                      const groups::StringCounts& counts) const {
    const std::uint32_t k = keys.shape().k;
    const KmerHash<Key> hash_of(k);
    std::uint32_t at = turns > 1 ? 0 : atomicAdd(taken, shard.kmers(lengths));
    groups::for_each_kmer_of_string<Key>(
        shard, lengths, bases, counts, [&](std::uint32_t layer, Key flanks, std::uint64_t count) {
          Key kmer = keys.template kmer<Key>({number, keys.pack(rest, layer, flanks)});
          if (is_canonical) kmer = canonical(kmer, k);
          const Key hash = hash_of(kmer);
          if (table::shard_of_hash(hash, k, is_canonical, kShardBits) != number) *damaged = 1;
          if (turns > 1 && static_cast<std::uint32_t>(hash) % turns != turn) return;
          const std::uint32_t here = turns > 1 ? atomicAdd(taken, 1u) : at++;
          if (here < room) items[here] = item_of(hash, count, beside);
        });
  }
};

/// A thread takes a bucket, and a block the record of a large group.
template <class Key>
__global__ void __launch_bounds__(kThreads)
    frozen_items_kernel(const __grid_constant__ FrozenItemsTask<Key> task, std::uint32_t* record_rests) {
  const groups::ShardBits& shard = task.shard;
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kThreads;
  for (std::uint64_t bucket = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x;
       bucket < shard.layout.buckets; bucket += stride) {
    groups::for_each_string_of_bucket(
        shard, bucket,
        [&](std::uint32_t rest, groups::FlankLengths lengths, groups::BitCursor bases,
            const groups::StringCounts& counts) { task.put(rest, lengths, bases, counts); },
        [&](std::uint32_t rest, std::uint32_t record) { record_rests[record] = rest; });
  }
}
template <class Key>
__global__ void __launch_bounds__(kThreads)
    frozen_record_items_kernel(const __grid_constant__ FrozenItemsTask<Key> task,
                               const std::uint32_t* record_rests) {
  const groups::ShardBits& shard = task.shard;
  const groups::LargeGroup group(shard, shard.part(shard.layout.buckets + blockIdx.x));
  const std::uint32_t rest = record_rests[blockIdx.x], stride = gridDim.y * kThreads;
  for (std::uint64_t mark = blockIdx.y * kThreads + threadIdx.x; mark < groups::marks_of(group);
       mark += stride) {
    groups::for_each_string_of_mark(
        shard, group, mark,
        [&](groups::FlankLengths lengths, groups::BitCursor bases, const groups::StringCounts& counts) {
          task.put(rest, lengths, bases, counts);
        });
  }
}

/// A child in its frame, and where its k-mers go: bins of a run.
template <class Key>
struct HarvestTask {
  Slots<Key> slots;
  std::uint64_t size;  ///< slots
  std::uint32_t k;
  bool is_canonical;
  std::uint32_t bin_bits, bins;
  const CountBeside<Key>* beside;  ///< in order of keys
  std::uint32_t beside_size;
  CountedView<Key> run;

  /// The k-mer's bin, by its number in the run; one that is not there is no less than `bins`.
  [[nodiscard]] __device__ std::uint32_t bin_of(Key hash) const {
    return table::shard_of_hash(hash, k, is_canonical, bin_bits) - run.first_bin;
  }
  [[nodiscard]] __device__ std::uint64_t count_beside(Key key) const {
    std::uint32_t low = 0, high = beside_size;
    while (low < high) {
      const std::uint32_t middle = (low + high) / 2;
      if (beside[middle].key < key) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low < beside_size && beside[low].key == key ? beside[low].count : 0;
  }
  /// Calls `visit(key, count)` for every k-mer: those in slots, and the one that no slot can have.
  template <class Visit>
  __device__ void for_each(Visit&& visit) const {
    const std::uint64_t stride = std::uint64_t{gridDim.x} * kThreads;
    const std::uint64_t self = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x;
    for (std::uint64_t i = self; i < size; i += stride) {
      const Slot<Key> entry = slots.read(i);
      if (entry.key == kEmptyKey<Key>) continue;
      visit(entry.key, entry.count + count_beside(entry.key));
    }
    if (self != 0 || beside_size == 0) return;
    const CountBeside<Key> last = beside[beside_size - 1];
    if (last.key == kEmptyKey<Key> && bin_of(last.key) < bins) visit(last.key, last.count);
  }
};

/// The bins' sizes, and the number of big counts, are 0 before each of these.
template <class Key>
__global__ void __launch_bounds__(kThreads) bin_sizes_kernel(HarvestTask<Key> task) {
  task.for_each([&](Key key, std::uint64_t count) {
    atomicAdd(task.run.sizes + task.bin_of(key), 1u);
    if (count >= kBigCount) atomicAdd(task.run.big.size, 1u);
  });
}

template <class Key>
__global__ void __launch_bounds__(kThreads) fill_bins_kernel(HarvestTask<Key> task) {
  task.for_each([&](Key key, std::uint64_t count) {
    const std::uint32_t bin = task.bin_of(key);
    const std::uint64_t at = task.run.begins[bin] + atomicAdd(task.run.sizes + bin, 1u);
    task.run.keys[at] = key;
    task.run.counts[at] = count < kBigCount ? static_cast<std::uint32_t>(count) : kBigCount;
    if (count < kBigCount) return;
    task.run.big.entries[atomicAdd(task.run.big.size, 1u)] = {key, count, task.run.first_bin + bin};
  });
}

/// Before each of the two passes over a child.
template <class Key>
void forget_sizes(const HarvestTask<Key>& task, cudaStream_t stream) {
  fill_bytes(task.run.sizes, 0, task.bins, stream);
  fill_bytes(task.run.big.size, 0, 1, stream);
}

template <class Key>
std::uint32_t harvest_blocks(const HarvestTask<Key>& task) {
  return blocks_for<fill_bins_kernel<Key>>(task.size, kThreads, kThreads);
}

/// The sizes of a child's bins, and how many big counts it has. Waits for the stream.
template <class Key>
std::vector<std::uint32_t> measure_bins(const HarvestTask<Key>& task, std::uint32_t& big,
                                        cudaStream_t stream) {
  forget_sizes(task, stream);
  bin_sizes_kernel<<<harvest_blocks(task), kThreads, 0, DriverLock::Shared(stream)>>>(task);
  check_launch("measuring the lists of a child table");
  std::vector<std::uint32_t> sizes(task.bins);
  copy_to_host(sizes.data(), task.run.sizes, sizes.size(), stream);
  copy_to_host(&big, task.run.big.size, 1, stream);
  check(cudaStreamSynchronize(stream), "reading a child table");
  return sizes;
}

/// Enqueues the filling of bins of these sizes, one behind the other.
template <class Key>
void fill_bins(const HarvestTask<Key>& task, const std::vector<std::uint32_t>& sizes, cudaStream_t stream) {
  std::vector<std::uint64_t> begins(sizes.size());
  std::exclusive_scan(sizes.begin(), sizes.end(), begins.begin(), std::uint64_t{0});
  copy_to_device(task.run.begins, begins.data(), begins.size(), stream);
  check(cudaStreamSynchronize(stream), "reading a child table");  // for `begins`
  forget_sizes(task, stream);
  fill_bins_kernel<<<harvest_blocks(task), kThreads, 0, DriverLock::Shared(stream)>>>(task);
  check_launch("putting a child table's k-mers in lists");
}

}  // namespace

template <class Key>
ResidentTable<Key>::ResidentTable(const index::IndexFile& index, const BinRange& bins,
                                  const ResidentTablePlan& plan)
    : index_(index),
      bins_(bins),
      plan_(plan),
      k_(index.params().k),
      table_(plan.table,
             table::ShardPlace<Key>{k_, bins.first_shard(), bins.end_shard(), index.params().canonical}),
      items_(plan.counted),
      beside_(kMostBeside),
      noted_(2),
      taken_(1) {
  room_.emplace(plan.counted, bins.bins(), CountedFor::counting);
  fill_bytes(noted_.data(), 0, noted_.size(), stream_);
  load();
}

template <class Key>
ResidentTable<Key>::~ResidentTable() {
  cudaStreamSynchronize(stream_);
  table_.storage().settle();
}

template <class Key>
void ResidentTable<Key>::load() {
  IndexShardWindow coming(index_, {bins_.first_shard(), bins_.end_shard()}, plan_.ring_words,
                          plan_.uploaders);
  /// After an error, too, nothing reads shards that are about to be freed.
  const struct Settling {
    const Stream& stream;
    ~Settling() { cudaStreamSynchronize(stream); }
  } settling{stream_};
  coming.begin();
  const groups::GroupShape shape(k_);
  const DeviceArray<groups::FlankLengths> lengths = length_table_on_device(k_);
  std::uint64_t waiting = 0;
  for (std::uint32_t shard = bins_.first_shard(); shard < bins_.end_shard(); ++shard) {
    coming.wait_for(shard + 1, stream_);
    const groups::ShardSizes& sizes = index_.sizes(shard);
    const groups::ShardBits bits(shape, sizes, coming.payload(shard), lengths.data());
    if (sizes.kmers > items_.size() - waiting) insert_items(std::exchange(waiting, 0));
    if (sizes.kmers > items_.size()) {
      insert_in_turns(shard, bits);
    } else if (sizes.kmers > 0) {
      take_items(shard, bits, {0, 1}, waiting, sizes.kmers);
      waiting += sizes.kmers;
    }
    coming.give_back(shard + 1, stream_);
  }
  insert_items(waiting);
  flush();
}

/// Enqueues the unpacking of a turn's k-mers to `items_`, from `first` on, as far as there is room for them.
template <class Key>
void ResidentTable<Key>::take_items(std::uint32_t shard, const groups::ShardBits& bits, const ShardTurn& turn,
                                    std::uint64_t first, std::uint64_t room) {
  const auto records = static_cast<std::uint32_t>(index_.sizes(shard).large_groups);
  make_room(record_rests_, records, stream_);
  fill_bytes(taken_.data(), 0, 1, stream_);
  const FrozenItemsTask<Key> task{groups::GroupKeys<Key, Key>(k_),
                                  bits,
                                  shard,
                                  index_.params().canonical,
                                  turn.number,
                                  turn.turns,
                                  items_.data() + first,
                                  static_cast<std::uint32_t>(room),
                                  taken_.data(),
                                  {beside_.data(), noted_.data()},
                                  noted_.data() + 1};
  frozen_items_kernel<<<blocks_for<frozen_items_kernel<Key>>(bits.layout.buckets, kThreads, kThreads),
                        kThreads, 0, DriverLock::Shared(stream_)>>>(task, record_rests_.data());
  if (records > 0) {
    const dim3 grid(records, records < 16 ? 16 : 1);  // one may have nearly all k-mers
    frozen_record_items_kernel<<<grid, kThreads, 0, DriverLock::Shared(stream_)>>>(task,
                                                                                   record_rests_.data());
  }
  check_launch("taking an index's k-mers");
}

/// Inserts a shard that has more k-mers than there is room for at once.
template <class Key>
void ResidentTable<Key>::insert_in_turns(std::uint32_t shard, const groups::ShardBits& bits) {
  const std::uint64_t wanted = index_.kmers(shard) / (items_.size() / 4 * 3 + 1) + 1;
  std::vector<ShardTurn> turns;
  for (std::uint32_t turn = 0; turn < wanted; ++turn)
    turns.push_back({turn, static_cast<std::uint32_t>(wanted)});
  while (!turns.empty()) {
    const ShardTurn turn = turns.back();
    turns.pop_back();
    take_items(shard, bits, turn, 0, 0);  // how many they are
    std::uint32_t n = 0;
    copy_to_host(&n, taken_.data(), 1, stream_);
    stream_.wait();
    if (n <= items_.size()) {
      take_items(shard, bits, turn, 0, n);
      insert_items(n);
    } else if (turn.turns > UINT32_MAX / 4) {
      throw InputError(index_.path() + ": the hashes of shard " + std::to_string(shard) + " are all alike");
    } else {
      turns.push_back({turn.number, 2 * turn.turns});
      turns.push_back({turn.number + turn.turns, 2 * turn.turns});
    }
  }
}

/// Those in `items_`, when they are there.
template <class Key>
void ResidentTable<Key>::insert_items(std::uint64_t n) {
  take_noted();
  explained([&] { table_.insert(items_.data(), n, true); });
}

/// Takes the notes beside the table to the host. Waits for the stream.
template <class Key>
void ResidentTable<Key>::take_noted() {
  std::uint32_t noted[2];
  copy_to_host(noted, noted_.data(), 2, stream_);
  fill_bytes(noted_.data(), 0, 2, stream_);
  stream_.wait();
  if (noted[1] > 0) throw InputError(index_.path() + ": the entries of its shards are damaged");
  if (noted[0] == 0) return;
  if (noted[0] > kMostBeside) throw_too_many_large_counts(index_);
  std::vector<CountBeside<Key>> counts(noted[0]);
  copy_to_host(counts.data(), beside_.data(), counts.size(), stream_);
  stream_.wait();
  for (const CountBeside<Key>& one : counts) counts_beside_[one.key] += one.count;
  if (counts_beside_.size() > kMostBeside) throw_too_many_large_counts(index_);
}

template <class Key>
CountedBins<Key>& ResidentTable<Key>::room(std::uint64_t entries) {
  if (entries > plan_.most_counted) {
    throw_not_alive(index_,
                    "a shard gets " + std::to_string(entries) +
                        " different k-mers at once, and there is room for " +
                        std::to_string(plan_.most_counted),
                    "raise --device-memory, or leave --paged out");
  }
  if (entries > room_->capacity()) {
    room_.reset();
    items_.reset();
    room_.emplace(entries, bins_.bins(), CountedFor::counting);
    items_ = DeviceArray<Item>(entries);
  }
  return *room_;
}

template <class Key>
void ResidentTable<Key>::add(std::uint64_t entries, cudaStream_t stream) {
  const Event counted;
  counted.record(stream);
  counted.let_follow(stream_);
  if (entries == 0) return;
  counted_items_kernel<<<blocks_for<counted_items_kernel<Key>>(entries, kThreads, kThreads), kThreads, 0,
                         DriverLock::Shared(stream_)>>>(room_->view(0), entries, items_.data(),
                                                        BesideBin<Key>{beside_.data(), noted_.data()});
  check_launch("taking counted k-mers");
  insert_items(entries);
}

template <class Key>
void ResidentTable<Key>::flush() {
  explained([&] {
    table_.flush();
    for (const Key key : table_.storage().take_wrapped()) counts_beside_[key] += std::uint64_t{1} << 32;
  });
  if (counts_beside_.size() > kMostBeside) throw_too_many_large_counts(index_);
}

template <class Key>
index::ShardRange ResidentTable<Key>::shards_of(const table::ChildRange& range) const {
  const table::ShardPlace<Key> place = table_.storage().place();
  return {place.shard_at(range.first), place.shard_at(range.end)};
}

template <class Key>
auto ResidentTable<Key>::next(cudaStream_t stream) -> std::optional<ResidentPart> {
  if (ranges_.empty()) begin_reading();
  if (next_range_ == ranges_.size()) return std::nullopt;
  const table::ChildRange& range = ranges_[next_range_++];
  std::optional<typename PagedKmerTable<Key>::Brought> brought;
  explained([&] {
    brought = table_.bring(range.child);
    if (next_range_ < ranges_.size()) table_.bring(ranges_[next_range_].child);  // comes meanwhile
  });
  ResidentPart part = put_in_bins(*brought, range, table_.storage().stream(brought->frame));
  table_.done_with(range.child);
  const Event filled;
  filled.record(table_.storage().stream(brought->frame));
  filled.let_follow(stream);
  return part;
}

/// Nothing more is added. Children are read in order of their shards, those that have any.
template <class Key>
void ResidentTable<Key>::begin_reading() {
  ranges_ = table_.ranges();
  std::erase_if(ranges_, [&](const table::ChildRange& range) {
    const index::ShardRange shards = shards_of(range);
    return shards.first == shards.end;
  });
  items_.reset();
  room_.reset();
  std::vector<CountBeside<Key>> shown;
  for (const auto& [key, count] : counts_beside_) shown.push_back({key, count});
  copy_to_device(beside_.data(), shown.data(), shown.size(), stream_);
  stream_.wait();
}

/// The k-mers of a child, in their bins: a pass that measures these, and one that fills them. `stream`: the
/// frame's.
template <class Key>
auto ResidentTable<Key>::put_in_bins(const typename PagedKmerTable<Key>::Brought& brought,
                                     const table::ChildRange& range, cudaStream_t stream) -> ResidentPart {
  const index::ShardRange shards = shards_of(range);
  const std::uint32_t each = bins_.bins_per_shard(), bins = (shards.end - shards.first) * each;
  const std::uint64_t entries = table_.filled(range.child) + 1;
  if (!room_ || room_->capacity() < entries || room_->bins() < bins) {
    room_.reset();
    room_.emplace(entries, bins, CountedFor::counting);
  }
  const HarvestTask<Key> task{brought.child.slots(),
                              brought.child.shape.slots(),
                              k_,
                              index_.params().canonical,
                              bins_.bin_bits,
                              bins,
                              beside_.data(),
                              static_cast<std::uint32_t>(counts_beside_.size()),
                              room_->view(shards.first * each)};
  std::uint32_t big = 0;
  const std::vector<std::uint32_t> sizes = measure_bins(task, big, stream);
  if (big > kMostBigCounts) throw_too_many_large_counts(index_);
  if (std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}) > entries)
    throw InternalError("a child table has more than it was given");
  fill_bins(task, sizes, stream);

  ResidentPart part{shards.first, shards.end, task.run, {}};
  for (auto first = sizes.begin(); first != sizes.end(); first += each)
    part.kmers.push_back(std::accumulate(first, first + each, std::uint64_t{0}));
  return part;
}

/// Errors of the table say what is to be done.
template <class Key>
template <class Work>
void ResidentTable<Key>::explained(Work&& work) const {
  try {
    work();
  } catch (const table::PagedTableFull& full) {
    using Reason = table::PagedTableFull::Reason;
    const std::uint32_t shard = shards_of(full.range).first;
    switch (full.reason) {
      case Reason::memory:
        throw_not_alive(index_, "its k-mers have become more than host memory has room for",
                        "raise -m, or leave --paged out");
      case Reason::one_place:
        throw_not_alive(
            index_,
            "the k-mers of shard " + std::to_string(shard) + " have become more than a part of it may have",
            "raise --device-memory, or leave --paged out");
      case Reason::unbuildable:
        throw_not_alive(index_, full.what(), "leave --paged out");
      case Reason::large_counts:
        throw_too_many_large_counts(index_);
    }
  }
}

template class ResidentTable<Key64>;
template class ResidentTable<Key128>;

}  // namespace warpmer::gpu
