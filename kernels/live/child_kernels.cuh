#pragma once
/// The kernels that work on a child of a paged table in its frame, and on the operations that wait for
/// children (kernels/live/device_children.cuh).

#include <cstdint>
#include <cstring>

#include "kernels/live/device_children.cuh"
#include "kernels/warps/tile_cuda.cuh"
#include "kernels/warps/word_tile_cuda.cuh"
#include "table/child_table.h"

namespace warpmer::gpu {

using table::ChildInFrame;
using table::ChildItems;
using table::ChildReport;
using table::ChildStep;
using table::ChildTable;
using table::Key32;

inline constexpr unsigned kChildThreads = 256;
/// A lane takes 32 bytes of a bucket of pairs: each lane's load is a sector, and more keys are under way at
/// once than with more lanes.
inline constexpr int kChildLanes = 8, kSlotsPerLane = table::kChildBucket / kChildLanes;
inline constexpr unsigned kChildGroups = kChildThreads / kChildLanes;

template <class Key, Reading kReading>
struct TileOfChild {
  using Type = CudaTile<Key, kChildLanes, kSlotsPerLane, kReading>;
};
template <Reading kReading>
struct TileOfChild<Key32, kReading> {
  using Type = CudaWordTile<kChildLanes, kSlotsPerLane, kReading>;
};
template <class Key>
using ChangingTile = typename TileOfChild<Key, Reading::changing>::Type;
template <class Key>
using FinishedTile = typename TileOfChild<Key, Reading::finished>::Type;

template <class T>
__device__ T tile_of_this_group() {
  return T(cg::tiled_partition<kChildLanes>(cg::this_thread_block()));
}

/// Returns to all lanes the value of one lane of a group; its type can be copied word by word.
template <class Group, class Value>
__device__ Value from_lane(const Group& group, const Value& mine, int lane) {
  static_assert(sizeof(Value) % sizeof(std::uint32_t) == 0);
  std::uint32_t parts[sizeof(Value) / sizeof(std::uint32_t)];
  memcpy(parts, &mine, sizeof(Value));
#pragma unroll
  for (auto& part : parts) part = group.shfl(part, lane);
  Value its;
  memcpy(&its, parts, sizeof(Value));
  return its;
}

/// Adds up the reports of a block's groups, and then those of the blocks.
class BlockReport {
 public:
  __device__ explicit BlockReport(ChildReport* report) : report_(report) {
    if (threadIdx.x == 0) sums() = {};
    __syncthreads();
  }
  /// One lane of each group calls this.
  __device__ void add(const ChildReport& mine) const {
    add(&sums().left, mine.left);
    add(&sums().filled, mine.filled);
    add(&sums().found, mine.found);
  }
  /// All threads call this in the end.
  __device__ void finish() const {
    __syncthreads();
    if (threadIdx.x != 0) return;
    add(&report_->left, sums().left);
    add(&report_->filled, sums().filled);
    add(&report_->found, sums().found);
  }

 private:
  __device__ static ChildReport& sums() {
    __shared__ std::uint64_t memory[sizeof(ChildReport) / sizeof(std::uint64_t)];
    return *reinterpret_cast<ChildReport*>(memory);
  }
  __device__ static void add(std::uint64_t* sum, std::uint64_t n) {
    if (n > 0) atomicAdd(reinterpret_cast<unsigned long long*>(sum), static_cast<unsigned long long>(n));
  }
  ChildReport* report_;
};

template <class Key, ChildStep kStep>
__global__ void __launch_bounds__(kChildThreads)
    update_kernel(ChildInFrame<Key> child, typename ChildItems<Key>::Update* updates,
                  const std::uint32_t* order, std::size_t begin, std::size_t end, ChildReport* report) {
  using Items = ChildItems<Key>;
  constexpr bool kIsLast = kStep != ChildStep::place;
  const auto tile = tile_of_this_group<ChangingTile<Key>>();
  const ChildTable<ChangingTile<Key>> table(child);
  const BlockReport sums(report);
  ChildReport mine;
  const std::size_t stride = std::size_t{gridDim.x} * kChildGroups;
  for (std::size_t i = begin + std::size_t{blockIdx.x} * kChildGroups + threadIdx.x / kChildLanes; i < end;
       i += stride) {
    typename Items::Update* const update = updates + (order == nullptr ? i : order[i]);
    table::ChildOutcome outcome = table.template serve<kStep>(tile, *update);
    if (!outcome.is_mine) continue;
    outcome.is_done = outcome.is_done || !kIsLast;  // a key without a place is reported once
    mine.note(outcome);
    tile.group.sync();
    if (tile.group.thread_rank() != 0) continue;
    if constexpr (kStep == ChildStep::subtract) {
      update->count = outcome.missing;
    } else if (kIsLast && outcome.is_done) {
      *update = Items::done();
    }
  }
  if (tile.group.thread_rank() == 0) sums.add(mine);
  sums.finish();
}

/// Each lane reads a slot of the image, which may be in the host's memory, and the group inserts one after
/// the other.
template <class Key>
__global__ void __launch_bounds__(kChildThreads)
    pour_kernel(ChildInFrame<Key> child, table::Slots<Key> image, std::size_t slots, ChildReport* report) {
  const auto tile = tile_of_this_group<ChangingTile<Key>>();
  const ChildTable<ChangingTile<Key>> table(child);
  const BlockReport sums(report);
  ChildReport mine;
  const std::size_t stride = std::size_t{gridDim.x} * kChildThreads;
  const unsigned rank = tile.group.thread_rank();
  for (std::size_t first = std::size_t{blockIdx.x} * kChildThreads + threadIdx.x - rank; first < slots;
       first += stride) {
    table::Slot<Key> read{table::kEmptyKey<Key>, 0};
    if (first + rank < slots) read = image.read(first + rank);
    const bool is_taken = table.takes_over(read);
    for (int lane = 0; lane < kChildLanes; ++lane) {
      if (!tile.group.shfl(static_cast<int>(is_taken), lane)) continue;
      const table::Slot<Key> entry{from_lane(tile.group, read.key, lane), tile.group.shfl(read.count, lane)};
      mine.note(table.take_over(tile, entry));
    }
  }
  if (rank == 0) sums.add(mine);
  sums.finish();
}

/// Reads a key that others may be masking; a key of 32 bits is read as a whole word.
template <class Key>
__device__ Key read_query(const Key* query) {
  if constexpr (sizeof(Key) == sizeof(std::uint32_t)) {
    return *const_cast<const volatile Key*>(query);
  } else {
    return load_key(query);
  }
}

/// Queries of one batch may be asked of several children side by side; at most one of them masks a query.
template <class Key>
__global__ void __launch_bounds__(kChildThreads)
    find_kernel(ChildInFrame<Key> child, Key* queries, const std::uint32_t* order, std::size_t begin,
                std::size_t end, std::uint32_t* answers, ChildReport* report) {
  const auto tile = tile_of_this_group<FinishedTile<Key>>();
  const ChildTable<FinishedTile<Key>> table(child);
  const BlockReport sums(report);
  ChildReport mine;
  const std::size_t stride = std::size_t{gridDim.x} * kChildGroups;
  for (std::size_t i = begin + std::size_t{blockIdx.x} * kChildGroups + threadIdx.x / kChildLanes; i < end;
       i += stride) {
    const std::size_t query = order == nullptr ? i : order[i];
    // One lane reads it, because another child may be masking it, and all lanes have to see the same.
    Key key{};
    if (tile.group.thread_rank() == 0) key = read_query(queries + query);
    key = from_lane(tile.group, key, 0);
    if (!table.is_asked(key)) continue;
    const std::uint32_t value = table.find(tile, key);
    if (value == 0) continue;
    ++mine.found;
    if (tile.group.thread_rank() != 0) continue;
    answers[query] = value;
    if constexpr (sizeof(Key) == sizeof(std::uint32_t)) {
      *const_cast<volatile Key*>(queries + query) = table::kEmptyKey<Key>;
    } else {
      exchange_keys(queries + query, table::kEmptyKey<Key>);
    }
  }
  if (tile.group.thread_rank() == 0) sums.add(mine);
  sums.finish();
}

template <class Key>
__global__ void __launch_bounds__(kChildThreads) clear_kernel(table::Slots<Key> slots, std::size_t n) {
  const std::size_t stride = std::size_t{gridDim.x} * kChildThreads;
  for (std::size_t i = std::size_t{blockIdx.x} * kChildThreads + threadIdx.x; i < n; i += stride)
    slots.write(i, {table::kEmptyKey<Key>, 0});
}

template <class Key>
__device__ Key key_of_item(const typename ChildItems<Key>::Update& update) {
  return ChildItems<Key>::key_of(update);
}
template <class Key>
__device__ Key key_of_item(const Key& query) {
  return query;
}

/// Counts the operations of each child in a block's part of the items.
template <class Key, class Item>
__device__ void count_part(const Item* items, std::size_t begin, std::size_t end,
                           const table::ChildDirectoryView<Key>& directory, std::uint32_t children,
                           std::uint32_t* counts) {
  for (std::uint32_t child = threadIdx.x; child < children; child += kChildThreads) counts[child] = 0;
  __syncthreads();
  for (std::size_t i = begin + threadIdx.x; i < end; i += kChildThreads) {
    const Key key = key_of_item<Key>(items[i]);
    if (key != table::kEmptyKey<Key>) atomicAdd(counts + directory.child_of(key), 1u);
  }
  __syncthreads();
}

template <class Key, class Item>
__global__ void __launch_bounds__(kChildThreads)
    count_kernel(const Item* items, std::size_t n, table::ChildDirectoryView<Key> directory,
                 std::uint32_t children, std::uint32_t* sums) {
  __shared__ std::uint32_t counts[kMostChildren];
  count_part<Key>(items, n * blockIdx.x / gridDim.x, n * (blockIdx.x + 1) / gridDim.x, directory, children,
                  counts);
  for (std::uint32_t child = threadIdx.x; child < children; child += kChildThreads) {
    if (counts[child] > 0) atomicAdd(sums + child, counts[child]);
  }
}

/// Orders operations. `next` has the place of each child's next operation in the order, and in the end
/// their ends.
template <class Key, class Item>
__global__ void __launch_bounds__(kChildThreads)
    order_kernel(const Item* items, std::size_t n, table::ChildDirectoryView<Key> directory,
                 std::uint32_t children, std::uint32_t* next, std::uint32_t* order) {
  __shared__ std::uint32_t places[kMostChildren];
  const std::size_t begin = n * blockIdx.x / gridDim.x, end = n * (blockIdx.x + 1) / gridDim.x;
  count_part<Key>(items, begin, end, directory, children, places);
  for (std::uint32_t child = threadIdx.x; child < children; child += kChildThreads) {
    if (places[child] > 0) places[child] = atomicAdd(next + child, places[child]);
  }
  __syncthreads();
  for (std::size_t i = begin + threadIdx.x; i < end; i += kChildThreads) {
    const Key key = key_of_item<Key>(items[i]);
    if (key != table::kEmptyKey<Key>)
      order[atomicAdd(places + directory.child_of(key), 1u)] = static_cast<std::uint32_t>(i);
  }
}

/// Copies the updates that still wait, in any order.
template <class Key>
__global__ void __launch_bounds__(kChildThreads)
    keep_kernel(const typename ChildItems<Key>::Update* updates, std::size_t n,
                typename ChildItems<Key>::Update* kept, std::uint32_t* size) {
  const std::size_t stride = std::size_t{gridDim.x} * kChildThreads;
  for (std::size_t i = std::size_t{blockIdx.x} * kChildThreads + threadIdx.x; i < n; i += stride) {
    if (ChildItems<Key>::key_of(updates[i]) == table::kEmptyKey<Key>) continue;
    const auto others = cg::coalesced_threads();
    std::uint32_t first = 0;
    if (others.thread_rank() == 0) first = atomicAdd(size, others.num_threads());
    kept[others.shfl(first, 0) + others.thread_rank()] = updates[i];
  }
}

}  // namespace warpmer::gpu
