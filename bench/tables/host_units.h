#pragma once
/// The memory of SlabAlloc on the host: units with their bitmaps, in one array or in super blocks.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "table/slab_alloc.h"
#include "tables/allocator_under_test.h"
#include "tables/super_blocks.h"

namespace warpmer::bench {

/// The number of super blocks, and of units in each; there are at least as many units as were asked for.
struct UnitShape {
  std::uint32_t super_blocks = 1;
  std::uint64_t units_each = 0;
  [[nodiscard]] std::size_t units() const { return std::size_t{super_blocks} * units_each; }
  /// Returns the number of words of the bitmaps of a super block.
  [[nodiscard]] std::size_t words_each() const {
    return std::size_t{table::slab_blocks_for(units_each)} * table::kBitmapWords;
  }
};

template <class Units>
UnitShape shape_of_units(std::uint64_t units) {
  if constexpr (std::is_same_v<Units, table::ContiguousUnits<typename Units::Unit>>) {
    return {1, units};
  } else {
    return {kSuperBlocks, (units + kSuperBlocks - 1) / kSuperBlocks};
  }
}

template <class Units>
class HostUnits {
 public:
  using Unit = typename Units::Unit;

  /// Makes at least `units` units.
  explicit HostUnits(std::uint64_t units)
      : shape_(shape_of_units<Units>(units)),
        units_(shape_.units()),
        bitmaps_(shape_.super_blocks * shape_.words_each()) {
    for (std::size_t i = 0; i < shape_.super_blocks; ++i) {
      super_blocks_.push_back(
          {bitmaps_.data() + i * shape_.words_each(), units_.data() + i * shape_.units_each});
    }
    clear();
  }

  /// Frees all units; all super blocks are in use.
  void clear() {
    for (std::size_t i = 0; i < bitmaps_.size(); ++i)
      bitmaps_[i] = table::bitmap_at_first(shape_.units_each, i % shape_.words_each());
    state_ = {};
    in_use_ = shape_.super_blocks;
  }
  [[nodiscard]] std::span<Unit> all() { return units_; }
  [[nodiscard]] const UnitShape& shape() const { return shape_; }
  [[nodiscard]] std::size_t bytes() const {
    return units_.size() * sizeof(Unit) + bitmaps_.size() * sizeof(std::uint32_t);
  }
  [[nodiscard]] std::size_t taken() const {
    std::size_t bits = 0;
    for (std::size_t i = 0; i < bitmaps_.size(); ++i) {
      const std::uint32_t first = table::bitmap_at_first(shape_.units_each, i % shape_.words_each());
      bits += static_cast<std::size_t>(std::popcount(bitmaps_[i] & ~first));
    }
    return bits;
  }
  [[nodiscard]] table::SlabAlloc<Units> alloc() { return {units(), &state_}; }

 private:
  Units units() {
    if constexpr (std::is_same_v<Units, table::ContiguousUnits<Unit>>) {
      return {bitmaps_.data(), units_.data(), shape_.units_each};
    } else {
      return {super_blocks_.data(), shape_.super_blocks, table::slab_blocks_for(shape_.units_each), &in_use_};
    }
  }

  UnitShape shape_;
  std::vector<Unit> units_;
  std::vector<std::uint32_t> bitmaps_;
  std::vector<typename SuperBlocks<Unit>::SuperBlock> super_blocks_;
  table::SlabAllocState state_{};
  std::uint32_t in_use_ = 1;
};

}  // namespace warpmer::bench
