#pragma once
/// Starting again: when a table has failed (a key found no place), its owner builds another, with another
/// hash function (Juenger et al. 2018, section II; Awad et al. 2023, section 3.2). Which seeds are tried and
/// where entries come from is the owner's.

#include <cstdint>
#include <optional>

namespace warpmer::table {

/// Calls `build(seed)` with one seed after another, from `first` on, `attempts` of them at most, until it
/// returns true: that seed; none when no build came to an end. Errors of `build` pass through.
template <class Build>
std::optional<std::uint32_t> first_seed_that_builds(std::uint32_t first, std::uint32_t attempts,
                                                    Build&& build) {
  for (std::uint32_t i = 0; i < attempts; ++i) {
    if (build(first + i)) return first + i;
  }
  return std::nullopt;
}

}  // namespace warpmer::table
