#pragma once
/// A ring of places in a stretch of memory, which are taken and given back in one order.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>

namespace warpmer::gpu {

class RingPlaces {
 public:
  explicit RingPlaces(std::uint64_t size) : size_(size) {}

  [[nodiscard]] bool is_empty() const { return taken_.empty(); }

  /// Returns the begin of a place for `n` elements, behind the one that was taken last; none while others are
  /// in the way.
  std::optional<std::uint64_t> take(std::uint64_t n) {
    std::uint64_t begin = taken_.empty() ? 0 : taken_.back().end;
    if (begin + n > size_) begin = 0;
    const auto is_in_the_way = [&](const TakenRange& taken) {
      return taken.begin < begin + n && begin < taken.end;
    };
    if (n > size_ || std::any_of(taken_.begin(), taken_.end(), is_in_the_way)) return std::nullopt;
    taken_.push_back({begin, begin + n});
    return begin;
  }
  /// Gives back the place that was taken first.
  void give_back() { taken_.pop_front(); }

 private:
  struct TakenRange {
    std::uint64_t begin, end;
  };

  std::uint64_t size_;
  std::deque<TakenRange> taken_;
};

}  // namespace warpmer::gpu
