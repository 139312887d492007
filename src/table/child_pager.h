#pragma once
/// Decides which of many child tables are on the device, and which comes next (Starfish: Xiong et al. 2022,
/// sections 4.1 and 4.2). It is host code that moves no byte: it is told what work waits for each child, says
/// which child to serve in which frame, and counts what that moves. So it is the same for any device, and for
/// children of any kind: tables that change, and frozen shards, which are never written back.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"

namespace warpmer::table {

/// Counts of what was moved, and what for.
struct PagingCounts {
  std::uint64_t visits = 0;  ///< children served
  std::uint64_t hits = 0;    ///< number of those on the device already
  std::uint64_t fetches = 0, fetched_bytes = 0;
  std::uint64_t write_backs = 0, written_bytes = 0;

  friend bool operator==(const PagingCounts&, const PagingCounts&) = default;
};

class ChildPager {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  /// `frames`: children that the device holds at once, at least 1.
  explicit ChildPager(std::uint32_t frames) : frames_(frames, kNone) {
    if (frames == 0) throw InternalError("a pager without frames");
  }

  /// A child of this size, by a number that no other has. `has_image`: what it holds lies on the host; else
  /// it is empty, and its first frame is not filled from there.
  void add(std::uint32_t child, std::uint64_t bytes, bool has_image) {
    if (child >= children_.size()) children_.resize(child + std::size_t{1});
    children_[child] = {};
    children_[child].bytes = bytes;
    children_[child].has_image = has_image;
  }
  /// A child that has become another: larger, smaller.
  void set_bytes(std::uint32_t child, std::uint64_t bytes) { children_[child].bytes = bytes; }

  /// The work that waits for a child from now on, in any unit.
  void set_work(std::uint32_t child, std::uint64_t amount) {
    ChildRecord& one = children_[child];
    waiting_ = waiting_ - one.work + amount;
    one.work = amount;
  }
  [[nodiscard]] std::uint64_t waiting() const { return waiting_; }

  [[nodiscard]] std::uint32_t frames() const { return static_cast<std::uint32_t>(frames_.size()); }
  [[nodiscard]] std::uint32_t child_in(std::uint32_t frame) const { return frames_[frame]; }
  [[nodiscard]] const PagingCounts& counts() const { return counts_; }

  struct Visit {
    std::uint32_t child;
    std::uint32_t frame;  ///< the child's, or that of the one which has to go
  };
  /// Returns the child to be served next, of those for which work waits: children that are on the device,
  /// then the others, by turn. None when no work waits.
  [[nodiscard]] std::optional<Visit> next() const {
    if (waiting_ == 0) return std::nullopt;
    for (std::uint32_t frame = 0; frame < frames(); ++frame) {
      if (frames_[frame] != kNone && children_[frames_[frame]].work > 0) return Visit{frames_[frame], frame};
    }
    return Visit{next_absent(), victim()};
  }
  /// Returns the frame that a child gets which is to come now, whatever waits: its own, or one that has to be
  /// left.
  [[nodiscard]] std::uint32_t frame_for(std::uint32_t child) const {
    return children_[child].frame != kNone ? children_[child].frame : victim();
  }

  /// The frame is left. True: its child has changed since it came, and is written back.
  bool leave(std::uint32_t frame) {
    if (frames_[frame] == kNone) return false;
    ChildRecord& one = children_[frames_[frame]];
    const bool writes = std::exchange(one.is_dirty, false);
    one.frame = kNone;
    frames_[frame] = kNone;
    if (!writes) return false;
    one.has_image = true;
    ++counts_.write_backs;
    counts_.written_bytes += one.bytes;
    return true;
  }
  /// The child comes into a frame that was left. True: its image is read; false: it has none, being empty.
  bool enter(std::uint32_t child, std::uint32_t frame) {
    ChildRecord& one = children_[child];
    one.frame = frame;
    one.came = ++clock_;
    frames_[frame] = child;
    last_child_ = child;
    if (!one.has_image) return false;
    ++counts_.fetches;
    counts_.fetched_bytes += one.bytes;
    return true;
  }
  /// Notes that what waited for the child is done, or will be before anything else happens to its frame.
  void served(std::uint32_t child, bool was_there) {
    set_work(child, 0);
    ++counts_.visits;
    counts_.hits += was_there ? 1 : 0;
  }
  /// The child in its frame is as if it had just come.
  void renew(std::uint32_t child) { children_[child].came = ++clock_; }
  /// The child in its frame is no longer what its image is.
  void changed(std::uint32_t child) { children_[child].is_dirty = true; }

 private:
  struct ChildRecord {
    std::uint64_t bytes = 0;
    std::uint64_t work = 0;
    std::uint64_t came = 0;  ///< the time when it came into its frame
    std::uint32_t frame = kNone;
    bool has_image = false;
    bool is_dirty = false;
  };

  /// Returns the next one of the children that are not on the device and for which work waits. They rotate:
  /// the turn goes on behind the one that came last.
  [[nodiscard]] std::uint32_t next_absent() const {
    const auto size = static_cast<std::uint32_t>(children_.size());
    const std::uint64_t first = last_child_ == kNone ? 0 : last_child_ + std::uint64_t{1};
    for (std::uint32_t step = 0; step < size; ++step) {
      const auto child = static_cast<std::uint32_t>((first + step) % size);
      if (children_[child].work > 0 && children_[child].frame == kNone) return child;
    }
    return kNone;
  }

  /// Returns a free frame, or that of the child that came first (the paper's policy).
  [[nodiscard]] std::uint32_t victim() const {
    std::uint32_t best = kNone;
    for (std::uint32_t frame = 0; frame < frames(); ++frame) {
      if (frames_[frame] == kNone) return frame;
      if (best == kNone || children_[frames_[frame]].came < children_[frames_[best]].came) best = frame;
    }
    return best;
  }

  std::vector<std::uint32_t> frames_;  ///< the child in each
  std::vector<ChildRecord> children_;  ///< by number
  std::uint64_t waiting_ = 0;
  std::uint64_t clock_ = 0;
  std::uint32_t last_child_ = kNone;  ///< the last child that came
  PagingCounts counts_;
};

}  // namespace warpmer::table
