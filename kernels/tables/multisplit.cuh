#pragma once
/// Multisplit: puts elements in order of the part to which each goes, in two passes over them (Ashkiani et
/// al. 2016, "GPU Multisplit": histograms of warps, of blocks, of the device; here all of a warp's counts are
/// in its lanes' registers). Elements of a part stay in the order in which they came, so the split is a
/// function of the input alone, and the way back needs nothing but the input.

#include <cstddef>
#include <cstdint>

#include "kernels/memory/device_memory.cuh"
#include "kernels/memory/persistent_grid.cuh"
#include "kernels/warps/warp_scan.cuh"

namespace warpmer::gpu {

/// The largest number of parts: a lane of a warp counts two of them.
inline constexpr std::uint32_t kMostParts = 64;

namespace multisplit {

inline constexpr std::uint32_t kThreads = 512;
inline constexpr std::uint32_t kWarps = kThreads / 32;

/// The number of elements of a thread, among the 32 KB or less that a block orders at a time.
template <class Element>
inline constexpr std::uint32_t kItems = sizeof(Element) <= 8 ? 8 : 64 / sizeof(Element);
template <class Element>
inline constexpr std::uint32_t kTile{kThreads * kItems<Element>};

/// The layout by which elements are shared out among blocks: each takes `share` adjacent ones.
struct Layout {
  std::uint32_t parts;
  std::uint32_t part_bits;  ///< number of bits of a part's number
  std::uint32_t blocks;
  std::size_t share;
  std::size_t size;  ///< number of elements
};

/// The result when the lanes of a warp compare their parts.
struct LaneComparison {
  std::uint32_t peers;      ///< lanes whose element goes to the same part as this lane's
  std::uint32_t low, high;  ///< number of elements for the part with this lane's number, and for that + 32
};

/// All 32 lanes take part; those without an element say so.
__device__ inline LaneComparison compare(std::uint32_t part, bool is_there, std::uint32_t part_bits) {
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t there = __ballot_sync(~0u, is_there);
  // A lane whose number is no part's counts none.
  std::uint32_t peers = there, mine = (lane >> part_bits) == 0 ? there : 0, high = 0;
  for (std::uint32_t bit = 0; bit < part_bits; ++bit) {
    const bool is_set = ((part >> bit) & 1) != 0;
    const std::uint32_t with = __ballot_sync(~0u, is_set);
    peers &= is_set ? with : ~with;
    if (bit == 5) {
      high = mine & with;
      mine &= ~with;
    } else {
      mine &= ((lane >> bit) & 1) != 0 ? with : ~with;
    }
  }
  return {peers, static_cast<std::uint32_t>(__popc(mine)), static_cast<std::uint32_t>(__popc(high))};
}

/// The places to which the elements of a tile go. Those of a warp in part p have places from `first[warp][p]`
/// on in the ordered tile; the element at place i of it, in part p, goes to `base[p] + i` (modulo 2^64).
struct TileOrder {
  std::uint32_t first[kWarps][kMostParts];
  std::uint64_t base[kMostParts];
};

/// Walks a block's share, tile by tile, and knows the places of its elements.
template <class Element, class PartOf>
class Walk {
 public:
  static constexpr std::uint32_t kOwn = kItems<Element>;

  __device__ Walk(const Layout& layout, const PartOf& part_of, const std::uint64_t* starts, TileOrder& order)
      : layout_(layout), part_of_(part_of), order_(order) {
    // The first warp knows the place of the block's next element of each part; each lane has two parts.
    const std::uint32_t part = threadIdx.x;
    if (part >= 32) return;
    if (part < layout.parts) next_low_ = starts[std::size_t{part} * layout.blocks + blockIdx.x];
    if (part + 32 < layout.parts) next_high_ = starts[std::size_t{part + 32} * layout.blocks + blockIdx.x];
  }

  /// Returns the number in the tile of this thread's element `i`; a warp's elements are adjacent.
  __device__ static std::uint32_t place_of(std::uint32_t i) {
    return threadIdx.x / 32 * 32 * kOwn + i * 32 + threadIdx.x % 32;
  }

  /// Calls `work(tile, size, elements, places)` for each tile, on all threads: `tile` is its begin in `from`,
  /// `size` its number of elements, `elements` those of this thread (number i is the tile's `place_of(i)`, if
  /// there is such a one), and `places` their places in the ordered tile.
  template <class Work>
  __device__ void run(const Element* from, Work&& work) {
    const std::size_t begin = blockIdx.x * layout_.share;
    const std::size_t end = begin + layout_.share < layout_.size ? begin + layout_.share : layout_.size;
    for (std::size_t tile = begin; tile < end; tile += kTile<Element>) {
      const auto size = static_cast<std::uint32_t>(end - tile < kTile<Element> ? end - tile : kTile<Element>);
      Element elements[kOwn];
      std::uint32_t places[kOwn];
#pragma unroll
      for (std::uint32_t i = 0; i < kOwn; ++i) {
        if (place_of(i) < size) elements[i] = from[tile + place_of(i)];
      }
      put_in_order(elements, size, places);
      work(tile, size, elements, places);
      __syncthreads();  // before the next tile's order is made
    }
  }

 private:
  __device__ void put_in_order(const Element (&elements)[kOwn], std::uint32_t size,
                               std::uint32_t (&places)[kOwn]) {
    const std::uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const std::uint32_t lanes_before = (1u << lane) - 1;
    std::uint32_t parts[kOwn];
    std::uint32_t low = 0, high = 0;
#pragma unroll
    for (std::uint32_t i = 0; i < kOwn; ++i) {
      const bool is_there = place_of(i) < size;
      parts[i] = is_there ? part_of_(elements[i]) : 0;
      const LaneComparison compared = compare(parts[i], is_there, layout_.part_bits);
      std::uint32_t before = __shfl_sync(~0u, low, parts[i] % 32);
      if (layout_.part_bits > 5) {
        const std::uint32_t before_high = __shfl_sync(~0u, high, parts[i] % 32);
        before = parts[i] < 32 ? before : before_high;
      }
      places[i] = before + __popc(compared.peers & lanes_before);
      low += compared.low;
      high += compared.high;
    }
    order_.first[warp][lane] = low;
    order_.first[warp][lane + 32] = high;
    __syncthreads();
    if (warp == 0) scan_warps();
    __syncthreads();
#pragma unroll
    for (std::uint32_t i = 0; i < kOwn; ++i) places[i] += order_.first[warp][parts[i]];
  }

  /// Makes places of the counts of warps, part by part and, in a part, warp by warp. The first warp does it.
  __device__ void scan_warps() {
    const std::uint32_t lane = threadIdx.x;
    std::uint32_t low = 0, high = 0;
#pragma unroll
    for (std::uint32_t warp = 0; warp < kWarps; ++warp) {
      low += order_.first[warp][lane];
      high += order_.first[warp][lane + 32];
    }
    const std::uint32_t low_sum = warp_inclusive_sum(low), high_sum = warp_inclusive_sum(high);
    std::uint32_t low_place = low_sum - low;
    std::uint32_t high_place = __shfl_sync(~0u, low_sum, 31) + high_sum - high;
    order_.base[lane] = next_low_ - low_place;
    order_.base[lane + 32] = next_high_ - high_place;
    next_low_ += low;
    next_high_ += high;
#pragma unroll
    for (std::uint32_t warp = 0; warp < kWarps; ++warp) {
      const std::uint32_t low_count = order_.first[warp][lane], high_count = order_.first[warp][lane + 32];
      order_.first[warp][lane] = low_place;
      order_.first[warp][lane + 32] = high_place;
      low_place += low_count;
      high_place += high_count;
    }
  }

  const Layout& layout_;
  const PartOf& part_of_;
  TileOrder& order_;
  std::uint64_t next_low_ = 0, next_high_ = 0;
};

/// Counts the elements of each block that go to each part: `counts` are part by part and, in a part, block by
/// block.
template <class Element, class PartOf>
__global__ void __launch_bounds__(kThreads)
    count_kernel(Layout layout, PartOf part_of, const Element* from, std::uint64_t* counts) {
  __shared__ std::uint32_t of_warps[kWarps][kMostParts];
  constexpr std::uint32_t kAtOnce = 8;
  const std::size_t begin = blockIdx.x * layout.share;
  const std::size_t end = begin + layout.share < layout.size ? begin + layout.share : layout.size;
  std::uint32_t low = 0, high = 0;
  for (std::size_t tile = begin; tile < end; tile += kThreads * kAtOnce) {
    std::uint32_t parts[kAtOnce];
#pragma unroll
    for (std::uint32_t i = 0; i < kAtOnce; ++i) {
      const std::size_t at = tile + i * kThreads + threadIdx.x;
      parts[i] = at < end ? part_of(from[at]) : kMostParts;
    }
#pragma unroll
    for (std::uint32_t i = 0; i < kAtOnce; ++i) {
      const LaneComparison compared = compare(parts[i], parts[i] < kMostParts, layout.part_bits);
      low += compared.low;
      high += compared.high;
    }
  }
  of_warps[threadIdx.x / 32][threadIdx.x % 32] = low;
  of_warps[threadIdx.x / 32][threadIdx.x % 32 + 32] = high;
  __syncthreads();
  if (threadIdx.x >= layout.parts) return;
  std::uint64_t count = 0;
  for (std::uint32_t warp = 0; warp < kWarps; ++warp) count += of_warps[warp][threadIdx.x];
  counts[std::size_t{threadIdx.x} * layout.blocks + blockIdx.x] = count;
}

/// Places elements. Tiles are put in order in shared memory, so that the writes for a part are adjacent.
template <class Element, class PartOf>
__global__ void __launch_bounds__(kThreads)
    place_kernel(Layout layout, PartOf part_of, const std::uint64_t* starts, const Element* from,
                 Element* to) {
  __shared__ TileOrder order;
  __shared__ alignas(16) unsigned char memory[kTile<Element> * sizeof(Element)];
  auto* const ordered = reinterpret_cast<Element*>(memory);
  using Tiles = Walk<Element, PartOf>;
  Tiles tiles(layout, part_of, starts, order);
  tiles.run(from, [&](std::size_t /*tile*/, std::uint32_t size, const auto& elements, const auto& places) {
#pragma unroll
    for (std::uint32_t i = 0; i < Tiles::kOwn; ++i) {
      if (Tiles::place_of(i) < size) ordered[places[i]] = elements[i];
    }
    __syncthreads();
    for (std::uint32_t place = threadIdx.x; place < size; place += kThreads) {
      const Element element = ordered[place];
      to[order.base[part_of(element)] + place] = element;
    }
  });
}

/// Restores the order by the same walk; the places to which elements went are read instead of written.
template <class Element, class PartOf, class Answer>
__global__ void __launch_bounds__(kThreads)
    restore_kernel(Layout layout, PartOf part_of, const std::uint64_t* starts, const Element* from,
                   const Answer* answers, Answer* in_order) {
  __shared__ TileOrder order;
  using Tiles = Walk<Element, PartOf>;
  Tiles tiles(layout, part_of, starts, order);
  tiles.run(from, [&](std::size_t tile, std::uint32_t size, const auto& elements, const auto& places) {
#pragma unroll
    for (std::uint32_t i = 0; i < Tiles::kOwn; ++i) {
      const std::uint32_t place = Tiles::place_of(i);
      if (place < size) in_order[tile + place] = answers[order.base[part_of(elements[i])] + places[i]];
    }
  });
}

/// Makes places of the counts of all blocks, by an exclusive sum in place. `sizes`, in device memory or
/// pinned memory of the host, gets the number of elements of each part.
void scan(const Layout& layout, std::uint64_t* counts, std::uint64_t* sizes, cudaStream_t stream);

}  // namespace multisplit

/// Splits arrays in the memory of the device that was current when it was made. One array at a time: `count`,
/// then `place`, then perhaps `restore`, in one stream, of the same elements.
///
/// `PartOf` names an element's part, in device code: `std::uint32_t operator()(const Element&) const`, below
/// `parts`. Elements are trivial, of 4, 8, 16 or 32 bytes.
template <class Element, class PartOf>
class DeviceMultisplit {
 public:
  /// `parts`: 1 to kMostParts.
  DeviceMultisplit(std::uint32_t parts, PartOf part_of)
      : part_of_(part_of),
        grid_(persistent_grid(multisplit::place_kernel<Element, PartOf>, multisplit::kThreads, 0)),
        starts_(std::size_t{parts} * grid_) {
    layout_.parts = parts;
    for (layout_.part_bits = 0; (1u << layout_.part_bits) < parts;) ++layout_.part_bits;
  }

  /// Counts the elements, out of `n`, that go to each part: writes `sizes`, in device memory or in pinned
  /// memory of the host.
  void count(const Element* from, std::size_t n, std::uint64_t* sizes, cudaStream_t stream) {
    constexpr std::size_t kTile = multisplit::kTile<Element>;
    const std::size_t tiles = n / kTile + 1;
    const std::size_t blocks = tiles < grid_ ? tiles : grid_;
    layout_.size = n;
    layout_.share = (n / blocks / 32 + 1) * 32;  // so that warps read whole lines
    layout_.blocks = static_cast<std::uint32_t>(n / layout_.share + 1);
    multisplit::count_kernel<<<layout_.blocks, multisplit::kThreads, 0, DriverLock::Shared(stream)>>>(
        layout_, part_of_, from, starts_.data());
    check_launch("counting the elements of parts");
    multisplit::scan(layout_, starts_.data(), sizes, stream);
  }

  /// Puts the elements in order of their parts, out of place.
  void place(const Element* from, Element* to, cudaStream_t stream) const {
    multisplit::place_kernel<<<layout_.blocks, multisplit::kThreads, 0, DriverLock::Shared(stream)>>>(
        layout_, part_of_, starts_.data(), from, to);
    check_launch("splitting elements by part");
  }

  /// Goes the way back: `answers` are in the order of `to`, and `in_order` gets them in that of `from`.
  template <class Answer>
  void restore(const Element* from, const Answer* answers, Answer* in_order, cudaStream_t stream) const {
    multisplit::restore_kernel<<<layout_.blocks, multisplit::kThreads, 0, DriverLock::Shared(stream)>>>(
        layout_, part_of_, starts_.data(), from, answers, in_order);
    check_launch("putting answers in order");
  }

 private:
  PartOf part_of_;
  std::uint32_t grid_;
  multisplit::Layout layout_{};
  DeviceArray<std::uint64_t> starts_;  ///< for each part, the starts of each block
};

}  // namespace warpmer::gpu
