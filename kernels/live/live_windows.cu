#include <algorithm>
#include <vector>

#include "kernels/live/live_kernels.cuh"
#include "kernels/live/live_kmers.cuh"
#include "table/probing.h"
#include "table/warpdrive.h"

namespace warpmer::gpu {

namespace {

/// The table as kernels see it (live_kernels.cuh).
template <class KeyType>
struct WindowScheme {
  using Key = KeyType;
  /// Two lanes look at a sector of keys by one load. (Measured on an H200, k = 31 and 55, G/s: asked 19.1 and
  /// 16.2, with four lanes 18.8 and 14.7; with one, which takes two loads, 16.0 and 16.0.)
  static constexpr int kLanes = 2;
  static constexpr unsigned kPartBlocks = 5;
  using Tile = CudaTile<Key, kLanes, 16 / static_cast<int>(sizeof(Key))>;
  using Probing = table::ScatteredWindows<Tile>;
  using Table = table::WarpDrive<Tile, Probing>;
  /// The paper's p_max: a key for which there is no room in so many windows is refused.
  static constexpr std::uint32_t kMostWindows = 32;

  std::uint32_t* beside;
  std::uint64_t groups;
  Key* keys;
  std::uint32_t* counts;
  std::uint32_t starts;  ///< of windows

  class WindowWorker {
   public:
    __device__ WindowWorker(const WindowScheme& scheme, const Tile& tile, std::uint32_t /*number*/)
        : tile_(tile),
          slots_{scheme.keys, scheme.counts},
          table_(slots_, Probing(scheme.starts, 0, kMostWindows)) {}

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
    Slots<Key> slots_;
    Table table_;
  };
  using Worker = WindowWorker;
};

template <class Key>
class LiveWindows : public LaunchedKmers<WindowScheme<Key>> {
 public:
  using Scheme = WindowScheme<Key>;
  using Tile = typename Scheme::Tile;

  LiveWindows(std::uint64_t bytes, KmerParams kmers)
      : LaunchedKmers<Scheme>(kmers),
        starts_(starts_for(bytes)),
        keys_(groups_for(starts_) * Tile::kWidth),
        counts_(keys_.size()) {
    const Stream stream;
    fill_bytes(keys_.data(), 0xFF, keys_.size(), stream);
    fill_bytes(counts_.data(), 0, counts_.size(), stream);
    stream.wait();
    Scheme& scheme = this->scheme_;
    scheme.groups = groups_for(starts_);
    scheme.keys = keys_.data();
    scheme.counts = counts_.data();
    scheme.starts = starts_;
  }

  /// Dropped slots become tombstones, which insertions take. The paper has a barrier between erasures and
  /// insertions, too.
  [[nodiscard]] bool drops_beside_questions() const override { return true; }

  [[nodiscard]] std::uint64_t bytes() const override { return keys_.bytes() + counts_.bytes(); }

 private:
  /// Returns the largest number of windows for which there is room: a prime number.
  static std::uint32_t starts_for(std::uint64_t bytes) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 31;
    const std::uint64_t groups =
        std::min(bytes / (Tile::kWidth * Slots<Key>::kBytes), kMost) - Scheme::Probing::kGroups;
    std::uint64_t starts = groups;
    while (table::windows_from(starts) != starts) --starts;
    return static_cast<std::uint32_t>(starts);
  }
  static std::size_t groups_for(std::uint32_t starts) {
    return typename Scheme::Probing(starts, 0, 1).groups();
  }

  std::uint32_t starts_;
  DeviceArray<Key> keys_;
  DeviceArray<std::uint32_t> counts_;
};

}  // namespace

template <class Key>
std::unique_ptr<LiveKmers<Key>> make_live_windows(std::uint64_t bytes, KmerParams kmers) {
  return std::make_unique<LiveWindows<Key>>(bytes, kmers);
}

template std::unique_ptr<LiveKmers<Key64>> make_live_windows(std::uint64_t, KmerParams);
template std::unique_ptr<LiveKmers<Key128>> make_live_windows(std::uint64_t, KmerParams);

}  // namespace warpmer::gpu
