#pragma once
/// Host memory for what devices put aside: pinned slabs that are added as they are needed.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "core/error.h"
#include "huge_pinned.cuh"

namespace warpmer::gpu {

/// A number of slabs that several share.
class SlabBudget {
 public:
  explicit SlabBudget(std::uint64_t slabs) : left_(slabs) {}

  /// Takes so many if then at least `leave` are left.
  bool take(std::uint64_t slabs, std::uint64_t leave) {
    std::uint64_t left = left_;
    while (left >= slabs + leave) {
      if (left_.compare_exchange_weak(left, left - slabs)) return true;
    }
    return false;
  }
  void give_back(std::uint64_t slabs) { left_ += slabs; }

 private:
  std::atomic<std::uint64_t> left_;
};

/// A space of bytes from 0 on that grows at its end, one slab of pinned memory after another. For one thread;
/// several share the budget.
class HostSlabs {
 public:
  static constexpr std::uint64_t kSlabBytes = std::uint64_t{16} << 20;

  explicit HostSlabs(SlabBudget& budget) : budget_(budget) {}
  ~HostSlabs() {
    for (char* slab : slabs_) release_huge_pinned(slab);
  }
  HostSlabs(const HostSlabs&) = delete;
  HostSlabs& operator=(const HostSlabs&) = delete;

  /// Makes room for so many bytes, if the budget has them beside `leave` slabs. False when it has not, or the
  /// system pins no more; nothing has changed then.
  bool allocate(std::uint64_t bytes, std::uint64_t leave, std::uint64_t& place) {
    const std::uint64_t end = used_ + bytes, have = slabs_.size();
    const std::uint64_t wanted = std::max(have, (end + kSlabBytes - 1) / kSlabBytes);
    if (wanted > have && !budget_.take(wanted - have, leave)) return false;
    while (slabs_.size() < wanted) {
      char* const slab = allocate_huge_pinned(kSlabBytes);
      if (slab == nullptr) {
        budget_.give_back(wanted - slabs_.size());
        return false;
      }
      slabs_.push_back(slab);
    }
    place = used_;
    used_ = (end + kAlignment - 1) / kAlignment * kAlignment;
    return true;
  }

  /// Calls `visit(memory, bytes)` for the pieces of a range, in order.
  template <class Visit>
  void for_each_piece(std::uint64_t place, std::uint64_t bytes, Visit&& visit) const {
    while (bytes > 0) {
      const std::uint64_t within = place % kSlabBytes, n = std::min(bytes, kSlabBytes - within);
      visit(slabs_[place / kSlabBytes] + within, n);
      place += n;
      bytes -= n;
    }
  }

  [[nodiscard]] std::uint64_t bytes() const { return slabs_.size() * kSlabBytes; }

 private:
  static constexpr std::uint64_t kAlignment = 256;

  SlabBudget& budget_;
  std::vector<char*> slabs_;
  std::uint64_t used_ = 0;
};

}  // namespace warpmer::gpu
