#pragma once
/// The memory of SlabAlloc on a GPU: units with their bitmaps, in one array or in super blocks
/// (host_units.h). All work is in the default stream.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/memory/device_memory.cuh"
#include "kernels/memory/persistent_grid.cuh"
#include "table/slab_alloc.h"
#include "tables/host_units.h"

namespace warpmer::bench {
namespace {

/// A pattern of 128 bytes that is written to every unit.
struct UnitPattern {
  std::uint32_t words[table::kSlabBytes / sizeof(std::uint32_t)];
};

constexpr unsigned kFillThreads = 256;

template <class Unit>
UnitPattern pattern_of(const Unit& unit) {
  static_assert(sizeof(Unit) == sizeof(UnitPattern));
  UnitPattern pattern;
  std::memcpy(&pattern, &unit, sizeof pattern);
  return pattern;
}

__global__ void fill_units_kernel(UnitPattern pattern, std::uint32_t* words, std::size_t size) {
  const std::size_t stride = std::size_t{gridDim.x} * kFillThreads;
  // A thread's words are all at the same place in their units.
  const std::size_t first = std::size_t{blockIdx.x} * kFillThreads + threadIdx.x;
  const std::uint32_t word = pattern.words[first % 32];
  for (std::size_t i = first; i < size; i += stride) words[i] = word;
}

__global__ void clear_bitmaps_kernel(std::uint32_t* words, std::size_t size, std::size_t words_each,
                                     std::uint64_t units_each) {
  const std::size_t stride = std::size_t{gridDim.x} * kFillThreads;
  for (std::size_t i = std::size_t{blockIdx.x} * kFillThreads + threadIdx.x; i < size; i += stride)
    words[i] = table::bitmap_at_first(units_each, i % words_each);
}

/// Sets `size` units to the contents of `unit`.
template <class Unit>
void fill_units(Unit* units, std::size_t size, const Unit& unit) {
  static const std::uint32_t grid = gpu::persistent_grid(fill_units_kernel, kFillThreads, 0);
  fill_units_kernel<<<grid, kFillThreads>>>(pattern_of(unit), reinterpret_cast<std::uint32_t*>(units),
                                            size * 32);
  gpu::check_launch("emptying slabs");
}

template <class Units>
class GpuUnits {
 public:
  using Unit = typename Units::Unit;
  using SuperBlock = typename SuperBlocks<Unit>::SuperBlock;

  /// Makes at least `units` units.
  explicit GpuUnits(std::uint64_t units)
      : shape_(shape_of_units<Units>(units)),
        units_(shape_.units()),
        bitmaps_(shape_.super_blocks * shape_.words_each()),
        super_blocks_(shape_.super_blocks),
        state_(1),
        in_use_(1) {
    std::vector<SuperBlock> super_blocks;
    for (std::size_t i = 0; i < shape_.super_blocks; ++i) {
      super_blocks.push_back(
          {bitmaps_.data() + i * shape_.words_each(), units_.data() + i * shape_.units_each});
    }
    send(super_blocks_.data(), super_blocks.data(), super_blocks.size());
    clear();
  }

  /// Frees all units; all super blocks are in use.
  void clear() {
    static const std::uint32_t grid = gpu::persistent_grid(clear_bitmaps_kernel, kFillThreads, 0);
    clear_bitmaps_kernel<<<grid, kFillThreads>>>(bitmaps_.data(), bitmaps_.size(), shape_.words_each(),
                                                 shape_.units_each);
    gpu::check_launch("clearing bitmaps");
    const table::SlabAllocState state{};
    send(state_.data(), &state, 1);
    send(in_use_.data(), &shape_.super_blocks, 1);
  }
  [[nodiscard]] Unit* data() const { return units_.data(); }
  [[nodiscard]] const UnitShape& shape() const { return shape_; }
  [[nodiscard]] std::size_t bytes() const { return units_.bytes() + bitmaps_.bytes(); }
  [[nodiscard]] std::size_t taken() const {
    std::vector<std::uint32_t> words(bitmaps_.size());
    gpu::check(cudaMemcpy(words.data(), bitmaps_.data(), bitmaps_.bytes(), cudaMemcpyDefault),
               "counting slabs");
    std::size_t bits = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::uint32_t first = table::bitmap_at_first(shape_.units_each, i % shape_.words_each());
      bits += static_cast<std::size_t>(std::popcount(words[i] & ~first));
    }
    return bits;
  }
  [[nodiscard]] table::SlabAlloc<Units> alloc() const { return {units(), state_.data()}; }

 private:
  template <class T>
  static void send(T* to, const T* from, std::size_t size) {
    gpu::check(cudaMemcpy(to, from, size * sizeof(T), cudaMemcpyDefault), "preparing an allocator");
  }
  [[nodiscard]] Units units() const {
    if constexpr (std::is_same_v<Units, table::ContiguousUnits<Unit>>) {
      return {bitmaps_.data(), units_.data(), shape_.units_each};
    } else {
      return {super_blocks_.data(), shape_.super_blocks, table::slab_blocks_for(shape_.units_each),
              in_use_.data()};
    }
  }

  UnitShape shape_;
  gpu::DeviceArray<Unit> units_;
  gpu::DeviceArray<std::uint32_t> bitmaps_;
  gpu::DeviceArray<SuperBlock> super_blocks_;
  gpu::DeviceArray<table::SlabAllocState> state_;
  gpu::DeviceArray<std::uint32_t> in_use_;
};

}  // namespace
}  // namespace warpmer::bench
