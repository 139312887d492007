#include <algorithm>

#include "kernels/live/live_kernels.cuh"
#include "kernels/live/live_kmers.cuh"
#include "kernels/memory/persistent_grid.cuh"
#include "kernels/warps/block_tile_cuda.cuh"
#include "table/probing.h"
#include "table/slot_blocks.h"
#include "table/warpdrive.h"

namespace warpmer::gpu {

namespace {

/// The table as kernels see it (live_kernels.cuh).
template <class KeyType>
struct WindowScheme {
  using Key = KeyType;
  /// Two lanes read a block. (Measured on an H200, k = 31 and 55, G/s: asked 29.6 and 24.6, with four lanes
  /// 28.0 and 22.8, with one 11.9 and 11.9.)
  static constexpr int kLanes = 2;
  static constexpr unsigned kTextBlocks = 0, kPartBlocks = 5;
  using Tile = CudaBlockTile<Key, kLanes>;
  using Layout = table::SlotBlocks<Key>;
  using Block = typename Layout::Block;
  using Home = table::OrderedBucket<Key>;
  /// Two blocks are a window, because a full table then has fewer clusters than with windows of the paper's
  /// 32 slots. (Measured likewise, 98 % full: asked 16.6, with three blocks 13.5, with eight 12.8.)
  static constexpr int kBlocksInWindow = 2;
  using Probing = table::ScatteredWindows<Tile, kBlocksInWindow * Tile::kWidth, Home>;
  using Table = table::WarpDrive<Tile, Probing, Layout>;
  /// The paper's p_max: a key for which there is no room in so many windows is refused.
  static constexpr std::uint32_t kMostWindows = 128;

  std::uint32_t* beside;
  std::uint64_t groups;
  Block* blocks;
  std::uint32_t starts;    ///< of windows
  std::uint32_t key_bits;  ///< of the hashes that are keys

  class WindowWorker {
   public:
    __device__ WindowWorker(const WindowScheme& scheme, const Tile& tile, std::uint32_t /*number*/)
        : tile_(tile),
          slots_{scheme.blocks},
          table_(slots_, Probing(Home(scheme.starts, scheme.key_bits), kMostWindows)) {}

    __device__ std::uint32_t insert(Key key, std::uint32_t n) const {
      const table::TakenSlot taken = table_.take(tile_, key);
      if (taken.slot < 0) return kLiveRefused;
      return add_in_bounds(tile_, slots_.at(static_cast<std::size_t>(taken.slot)), 0, n);
    }
    __device__ bool remove(Key key, std::uint32_t n) const { return table_.subtract(tile_, key, n); }
    __device__ std::uint32_t ask(Key key) const { return table_.find_with_count(tile_, key).count; }
    template <class Visit>
    __device__ void for_each(std::uint64_t group, Visit&& visit) const {
      for_each_slot(group, [&](const Slot<Key>& slot) {
        if (slot.count > 0) visit(slot);
      });
    }
    /// Erases the keys of a group whose counts are 0. Returns their number.
    __device__ std::uint32_t drop_removed(std::uint64_t group) const {
      std::uint32_t dropped = 0;
      for_each_slot(group, [&](const Slot<Key>& slot) {
        if (slot.count == 0 && table_.erase(tile_, slot.key)) ++dropped;
      });
      return dropped;
    }

   private:
    template <class Visit>
    __device__ void for_each_slot(std::uint64_t group, Visit&& visit) const {
      for (std::uint32_t i = 0; i < Tile::kWidth; ++i) {
        const Slot<Key> slot = slots_.read(group * Tile::kWidth + i);
        if (!is_beside(slot.key)) visit(slot);
      }
    }

    Tile tile_;
    Layout slots_;
    Table table_;
  };
  using Worker = WindowWorker;
};

template <class Block>
__global__ __launch_bounds__(kKeyThreads) void empty_blocks_kernel(Block* blocks, std::size_t size) {
  const std::size_t stride = std::size_t{gridDim.x} * kKeyThreads;
  for (std::size_t i = std::size_t{blockIdx.x} * kKeyThreads + threadIdx.x; i < size; i += stride)
    make_empty(blocks[i]);
}

template <class Key>
class LiveWindows : public LaunchedKmers<WindowScheme<Key>> {
 public:
  using Scheme = WindowScheme<Key>;
  using Block = typename Scheme::Block;

  LiveWindows(std::uint64_t bytes, KmerParams kmers)
      : LaunchedKmers<Scheme>(kmers), starts_(starts_for(bytes)), blocks_(groups_for(starts_)) {
    const Stream stream;
    constexpr auto kKernel = empty_blocks_kernel<Block>;
    kKernel<<<blocks_for<kKernel>(blocks_.size(), kKeyThreads, kKeyThreads), kKeyThreads, 0,
              DriverLock::Shared(stream)>>>(blocks_.data(), blocks_.size());
    check_launch("emptying a table");
    stream.wait();
    Scheme& scheme = this->scheme_;
    scheme.groups = blocks_.size();
    scheme.blocks = blocks_.data();
    scheme.starts = starts_;
    scheme.key_bits = 2 * kmers.k;
  }

  /// Dropped slots become tombstones, which insertions take. The paper has a barrier between erasures and
  /// insertions, too.
  [[nodiscard]] bool drops_beside_questions() const override { return true; }

  [[nodiscard]] std::uint64_t bytes() const override { return blocks_.bytes(); }

 private:
  /// Returns the largest number of windows for which there is room: a prime number.
  static std::uint32_t starts_for(std::uint64_t bytes) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 31;
    const std::uint64_t groups =
        std::min<std::uint64_t>(bytes / sizeof(Block), kMost) - Scheme::Probing::kGroups;
    std::uint64_t starts = groups;
    while (table::windows_from(starts) != starts) --starts;
    return static_cast<std::uint32_t>(starts);
  }
  static std::size_t groups_for(std::uint32_t starts) {
    return typename Scheme::Probing({starts, 0}, 1).groups();
  }

  std::uint32_t starts_;
  DeviceArray<Block> blocks_;
};

}  // namespace

template <class Key>
std::unique_ptr<LiveKmers<Key>> make_live_windows(std::uint64_t bytes, KmerParams kmers) {
  return std::make_unique<LiveWindows<Key>>(bytes, kmers);
}

template std::unique_ptr<LiveKmers<Key64>> make_live_windows(std::uint64_t, KmerParams);
template std::unique_ptr<LiveKmers<Key128>> make_live_windows(std::uint64_t, KmerParams);

}  // namespace warpmer::gpu
