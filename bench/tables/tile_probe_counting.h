#pragma once
/// A tile that counts how many buckets it has looked at: "probes" as the papers report them (Awad et al.
/// 2023, section 7.4: a probe reads one bucket, whatever its size). Any scheme works on it as on the tile
/// inside.

#include <cstdint>

#include "table/tile.h"

namespace warpmer::bench {

template <table::Tile Inner>
struct ProbeCountingTile : Inner {
  using Key = typename Inner::Key;
  using Bucket = typename Inner::Bucket;

  ProbeCountingTile() = default;
  WARPMER_HD explicit ProbeCountingTile(const Inner& inner) : Inner(inner) {}

  WARPMER_HD Bucket load(table::Slots<Key> s) const {
    ++probes_;
    return Inner::load(s);
  }

  /// Returns the number since the tile was made; on GPUs the same on all lanes of the group.
  [[nodiscard]] WARPMER_HD std::uint64_t probes() const { return probes_; }

 private:
  mutable std::uint64_t probes_ = 0;  ///< schemes take tiles by const reference
};

}  // namespace warpmer::bench
