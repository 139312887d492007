#pragma once
/// The parts of the spill file that belong to a group of shards: they are read ahead before the group is
/// counted, and given up afterwards.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "file/spill_file.h"

namespace warpmer::cpu {

/// A part of the file that was written at once.
struct Extent {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// The kernel is only advised by these: where there are very many, they are forgotten rather than kept, so
/// that what they take is bounded.
class SpilledExtents {
 public:
  void note(const Extent& extent) {
    bytes_ += extent.bytes;
    if (extents_.size() < kMost) extents_.push_back(extent);
  }
  /// Has the kernel read them, unless there is so much that it would drive out what is needed before.
  void will_need(const file::SpillFile& file) const {
    if (bytes_ > kMostReadAhead) return;
    for (const Extent& extent : extents_) file.will_need(extent.offset, extent.bytes);
  }
  void give_up(const file::SpillFile& file) const {
    for (const Extent& extent : extents_) file.give_up(extent.offset, extent.bytes);
  }

 private:
  static constexpr std::uint64_t kMostReadAhead = std::uint64_t{256} << 20;
  /// Most extents of a group: with 64 groups, as there are where memory is shortest, these take 2 MiB.
  static constexpr std::size_t kMost = 2048;

  std::vector<Extent> extents_;
  std::uint64_t bytes_ = 0;  ///< bytes of all extents, those forgotten included
};

}  // namespace warpmer::cpu
