#pragma once
/// Host memory for what devices put aside: slabs that are added as they are needed.

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

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

/// A space of bytes from 0 on that grows at its end, one slab after another, in huge pages where the system
/// gives some. (It is not pinned: the driver pins for one thread at a time, and lets nobody copy meanwhile.)
/// For one thread; several share the budget.
class HostSlabs {
 public:
  static constexpr std::uint64_t kSlabBytes = std::uint64_t{16} << 20;

  explicit HostSlabs(SlabBudget& budget) : budget_(budget) {}

  /// Makes room for so many bytes, if the budget has them beside `leave` slabs. False when it has not, or the
  /// system has no more; no place is taken then.
  bool allocate(std::uint64_t bytes, std::uint64_t leave, std::uint64_t& place) {
    const std::uint64_t end = used_ + bytes, have = slabs_.size();
    const std::uint64_t wanted = std::max(have, (end + kSlabBytes - 1) / kSlabBytes);
    if (wanted > have && !budget_.take(wanted - have, leave)) return false;
    while (slabs_.size() < wanted) {
      Slab slab(static_cast<char*>(std::aligned_alloc(kHugePage, kSlabBytes)));
      if (slab == nullptr) {
        budget_.give_back(wanted - slabs_.size());
        return false;
      }
      ::madvise(slab.get(), kSlabBytes, MADV_HUGEPAGE);
      slabs_.push_back(std::move(slab));
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
      visit(slabs_[place / kSlabBytes].get() + within, n);
      place += n;
      bytes -= n;
    }
  }

 private:
  static constexpr std::uint64_t kAlignment = 256;
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  using Slab = std::unique_ptr<char, Free>;

  SlabBudget& budget_;
  std::vector<Slab> slabs_;
  std::uint64_t used_ = 0;
};

}  // namespace warpmer::gpu
