#pragma once
/// A range of counts, and k-mers that are left out by theirs.

#include <cstddef>
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

/// Moves the k-mers with counts that `keeps` says to the front, keeping their order. Returns how many they
/// are. It does so without a branch: which they are is not to be predicted.
template <class Key, class Keeps>
std::size_t move_kept(Key* keys, std::uint64_t* counts, std::size_t n, Keeps&& keeps) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t count = counts[i];
    keys[kept] = keys[i];
    counts[kept] = count;
    kept += keeps(count) ? 1 : 0;
  }
  return kept;
}

}  // namespace warpmer::backend
