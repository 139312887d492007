#pragma once
/// What all tiles on a GPU have in common: a group of `Lanes` adjacent lanes, each of which looks at
/// `SlotsPerLane` adjacent slots of a bucket, and how a lane's answer becomes all lanes'.

#include <cooperative_groups.h>

#include <cstdint>
#include <cstring>

#include "table/tile.h"

namespace warpmer::gpu {

namespace cg = cooperative_groups;

template <int Lanes, int SlotsPerLane>
struct LaneGroup {
  using Group = cg::thread_block_tile<Lanes>;
  static constexpr int kWidth = Lanes * SlotsPerLane;
  static_assert(kWidth <= 32, "a mask has a bit for each slot");

  Group group;

  __device__ explicit LaneGroup(const Group& lanes) : group(lanes) {}

 protected:
  __device__ int rank() const { return Lanes == 1 ? 0 : static_cast<int>(group.thread_rank()); }
  /// One lane acts: the one whose slot it is.
  __device__ bool acts(int slot) const { return Lanes == 1 || rank() == slot / SlotsPerLane; }

  /// What the acting lane has: 4, 8 or 16 bytes.
  template <class T>
  __device__ T from_lane_of(int slot, T value) const {
    if constexpr (Lanes > 1 && sizeof(T) <= 8) {
      value = group.shfl(value, slot / SlotsPerLane);
    } else if constexpr (Lanes > 1) {
      std::uint64_t parts[sizeof(T) / 8];
      memcpy(parts, &value, sizeof(T));
      for (auto& part : parts) part = group.shfl(part, slot / SlotsPerLane);
      memcpy(&value, parts, sizeof(T));
    }
    return value;
  }

  /// Lane-local masks of SlotsPerLane bits, side by side.
  __device__ table::SlotMask gather(table::SlotMask mine) const {
    if constexpr (Lanes == 1) {
      return mine;
    } else if constexpr (SlotsPerLane == 1) {
      return group.ballot(mine != 0);
    } else {
      table::SlotMask all = mine << (rank() * SlotsPerLane);
#pragma unroll
      for (int step = 1; step < Lanes; step *= 2) all |= group.shfl_xor(all, step);
      return all;
    }
  }
};

}  // namespace warpmer::gpu
