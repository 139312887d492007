#pragma once
/// Large pinned host memory.

#include <cstddef>
#include <memory>

#include "kernels/memory/device_memory.cuh"

namespace warpmer::gpu {

namespace detail {

struct UnpinPages {
  std::size_t bytes = 0;
  void operator()(void* memory) const noexcept;
};
using PinnedPages = std::unique_ptr<void, UnpinPages>;
/// ResourceError when there are none to be had.
PinnedPages pin_pages(std::size_t bytes);

/// The two steps of it, for memory that is mapped already: the system gives the pages, to so many threads
/// side by side (the driver would take them by one thread); then any GPU may copy from and to them, until
/// cudaHostUnregister. What they hold stays. ResourceError when the driver has a reason not to.
void touch_pages(void* begin, std::size_t bytes, unsigned threads);
void register_pages(void* begin, std::size_t bytes);
[[noreturn]] void throw_no_pages(std::size_t bytes);

}  // namespace detail

/// Huge pages, where the system gives some, that any GPU copies from and to by itself; `cudaMallocHost` takes
/// several times as long. For 2 MB and more: memory is taken in whole huge pages.
template <class T>
class PinnedPageArray {
 public:
  PinnedPageArray() = default;
  /// With a GPU current whose context may be begun. ResourceError when there is no such memory to be had.
  explicit PinnedPageArray(std::size_t size) : pages_(detail::pin_pages(size * sizeof(T))) {}

  [[nodiscard]] T* data() const { return static_cast<T*>(pages_.get()); }
  [[nodiscard]] std::size_t size() const {
    return pages_ == nullptr ? 0 : pages_.get_deleter().bytes / sizeof(T);
  }
  /// Room for `size` elements; what was there is lost when it grows.
  void reserve(std::size_t size) {
    if (size <= this->size()) return;
    pages_.reset();
    *this = PinnedPageArray(size);
  }

 private:
  detail::PinnedPages pages_;
};

}  // namespace warpmer::gpu
