#pragma once
/// A range of counts.

#include <cstdint>

namespace warpmer::backend {

/// Counts from min to max.
struct CountBounds {
  std::uint64_t min = 1;
  std::uint64_t max = UINT64_MAX;
  [[nodiscard]] constexpr bool contains(std::uint64_t count) const noexcept {
    return count >= min && count <= max;
  }
  [[nodiscard]] constexpr bool contains_all() const noexcept { return min <= 1 && max == UINT64_MAX; }
};

}  // namespace warpmer::backend
