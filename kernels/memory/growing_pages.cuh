#pragma once
/// Pinned host memory that grows in place.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/error.h"

namespace warpmer::gpu {

/// One range of addresses. Its first bytes, as many as are asked for, are memory that any GPU copies from and
/// to by itself, in whole huge pages. A GPU must be current whose context may be begun.
class GrowingPages {
 public:
  static constexpr unsigned kMostThreads = 8;
  /// Memory is given back in whole pieces.
  static constexpr std::size_t kPieceBytes = std::size_t{16} << 20;

  GrowingPages() = default;
  /// Takes addresses for at most so many bytes, and no memory yet. Throws a ResourceError when the system has
  /// not so many addresses.
  explicit GrowingPages(std::size_t most_bytes);
  ~GrowingPages();
  GrowingPages(GrowingPages&& other) noexcept { swap(other); }
  GrowingPages& operator=(GrowingPages&& other) noexcept {
    swap(other);
    return *this;
  }

  /// Makes the first `bytes` be there, and no whole piece behind them. Contents that are there before and
  /// after stay; no copy may be under way. Throws a ResourceError when there is no such memory to be had;
  /// then nothing has changed. At most `threads` threads have pages cleared.
  void resize(std::size_t bytes, unsigned threads = kMostThreads);
  [[nodiscard]] std::byte* data() const { return data_; }
  /// Returns the bytes that are there, in whole huge pages: at least as many as were asked for.
  [[nodiscard]] std::size_t bytes() const { return ends_.empty() ? 0 : ends_.back(); }
  /// Calls `visit(begin, end)` for each part of the first `bytes` that one copy can take. Throws an
  /// InternalError when fewer are there.
  template <class Visit>
  void for_each_part(std::size_t bytes, Visit&& visit) const {
    if (bytes > this->bytes()) throw InternalError("more is asked of growing pages than there is");
    std::size_t begin = 0;
    for (const std::size_t end : ends_) {
      if (begin < bytes) visit(begin, std::min(end, bytes));
      begin = end;
    }
  }

 private:
  void swap(GrowingPages& other) noexcept;
  void grow(std::size_t end, unsigned threads);
  void shrink(std::size_t end) noexcept;
  void pin(std::size_t end);
  void unpin_last() noexcept;

  std::byte* data_ = nullptr;
  std::size_t most_bytes_ = 0;
  std::vector<std::size_t> ends_;  ///< ends of pieces, each pinned by itself
};

}  // namespace warpmer::gpu
