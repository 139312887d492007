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
/// Returns pinned pages. Throws a ResourceError when there are none to be had.
PinnedPages pin_pages(std::size_t bytes);

/// The two steps of `pin_pages`, for memory that is already mapped. First the system gives the pages, to
/// `threads` threads side by side (the driver would take them with one thread); then any GPU may copy from
/// and to them, until cudaHostUnregister. The contents stay. A ResourceError is thrown when the driver
/// refuses.
void touch_pages(void* begin, std::size_t bytes, unsigned threads);
void register_pages(void* begin, std::size_t bytes);

}  // namespace detail

/// Huge pages, if the system gives some, that any GPU copies from and to by itself; `cudaMallocHost` takes
/// several times as long. It is for 2 MB and more: memory is taken in whole huge pages.
template <class T>
class PinnedPageArray {
 public:
  PinnedPageArray() = default;
  /// A GPU must be current whose context may be begun. Throws a ResourceError when there is no such memory to
  /// be had.
  explicit PinnedPageArray(std::size_t size) : pages_(detail::pin_pages(size * sizeof(T))) {}

  [[nodiscard]] T* data() const { return static_cast<T*>(pages_.get()); }
  [[nodiscard]] std::size_t size() const {
    return pages_ == nullptr ? 0 : pages_.get_deleter().bytes / sizeof(T);
  }
  /// Makes room for `size` elements; the contents are lost when it grows.
  void reserve(std::size_t size) {
    if (size <= this->size()) return;
    pages_.reset();
    *this = PinnedPageArray(size);
  }

 private:
  detail::PinnedPages pages_;
};

}  // namespace warpmer::gpu
