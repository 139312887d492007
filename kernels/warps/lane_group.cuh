#pragma once
/// The common part of all tiles on a GPU: a group of `Lanes` adjacent lanes, each of which looks at
/// `SlotsPerLane` slots of a bucket, and the exchange that gives one lane's answer to all lanes.

#include <cooperative_groups.h>

#include <cstdint>
#include <cstring>

#include "table/tile.h"

namespace warpmer::gpu {

namespace cg = cooperative_groups;

/// The way in which a tile reads buckets.
enum class Reading {
  changing,  ///< other threads may write: reads bypass the caches that other multiprocessors do not see
  finished,  ///< no thread writes to the table, which is in global memory
};

/// Slots go around the lanes in runs of `Run` adjacent ones: the lane's first run, then those of its
/// neighbours, then its second run, and so on.
template <int Lanes, int SlotsPerLane, int Run = SlotsPerLane>
struct LaneGroup {
  using Group = cg::thread_block_tile<Lanes>;
  static constexpr int kWidth = Lanes * SlotsPerLane;
  static_assert(kWidth <= 32, "a mask has a bit for each slot");
  static_assert(SlotsPerLane % Run == 0);

  Group group;

  __device__ explicit LaneGroup(const Group& lanes) : group(lanes) {}

 protected:
  __device__ int rank() const { return Lanes == 1 ? 0 : static_cast<int>(group.thread_rank()); }
  /// Return the lane whose slot it is, and the number among that lane's slots. They compute with unsigned
  /// numbers, so that dividing is shifting.
  __device__ static int lane_of(int slot) {
    return static_cast<int>(static_cast<unsigned>(slot) / Run % Lanes);
  }
  __device__ static int place_in_lane(int slot) {
    const auto number = static_cast<unsigned>(slot);
    return static_cast<int>(number / (Run * Lanes) * Run + number % Run);
  }
  /// Returns the slot that begins one of this lane's runs.
  __device__ int run_start(int run) const { return (rank() + Lanes * run) * Run; }
  /// True on the one lane that acts: the lane whose slot it is.
  __device__ bool acts(int slot) const { return Lanes == 1 || rank() == lane_of(slot); }

  /// Returns to all lanes the value of the acting lane, which has 4, 8 or 16 bytes.
  template <class T>
  __device__ T from_lane_of(int slot, T value) const {
    if constexpr (Lanes > 1 && sizeof(T) <= 8) {
      value = group.shfl(value, lane_of(slot));
    } else if constexpr (Lanes > 1) {
      std::uint64_t parts[sizeof(T) / 8];
      memcpy(parts, &value, sizeof(T));
      for (auto& part : parts) part = group.shfl(part, lane_of(slot));
      memcpy(&value, parts, sizeof(T));
    }
    return value;
  }

  /// Combines lane-local masks of SlotsPerLane bits into one mask, with each bit at its slot.
  __device__ table::SlotMask gather(table::SlotMask mine) const {
    if constexpr (Lanes == 1) {
      return mine;
    } else if constexpr (SlotsPerLane == 1) {
      return group.ballot(mine != 0);
    } else {
      constexpr table::SlotMask kRunMask = (1u << Run) - 1;
      table::SlotMask all = 0;
#pragma unroll
      for (int run = 0; run < SlotsPerLane / Run; ++run)
        all |= ((mine >> (run * Run)) & kRunMask) << run_start(run);
#pragma unroll
      for (int step = 1; step < Lanes; step *= 2) all |= group.shfl_xor(all, step);
      return all;
    }
  }
};

}  // namespace warpmer::gpu
