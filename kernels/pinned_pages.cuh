#pragma once
/// Large pinned host memory.

#include <cstddef>

#include "device_memory.cuh"

namespace warpmer::gpu {

inline constexpr std::size_t kHugePage = std::size_t{2} << 20;
/// What so much takes: whole huge pages.
constexpr std::size_t pinned_pages_bytes(std::size_t bytes) {
  return (bytes + kHugePage - 1) / kHugePage * kHugePage;
}

/// Huge pages, where the system gives some, that any GPU copies from and to by itself; `cudaMallocHost` takes
/// several times as long. With a GPU current whose context may be begun. Null when there are none to be had.
[[nodiscard]] char* try_allocate_pinned_pages(std::size_t bytes);
void free_pinned_pages(char* memory) noexcept;

namespace detail {

struct PinnedPages {
  /// ResourceError when there are none.
  static void* allocate(std::size_t bytes);
  static void free(void* memory) { free_pinned_pages(static_cast<char*>(memory)); }
};

}  // namespace detail

/// For 2 MB and more.
template <class T>
using PinnedPageArray = detail::Array<T, detail::PinnedPages>;

}  // namespace warpmer::gpu
