#include "core/error.h"
#include "core/huge_pages.h"
#include "pinned_pages.cuh"

namespace warpmer::gpu::detail {

PinnedPages pin_pages(std::size_t bytes) {
  const std::size_t whole = whole_huge_pages(bytes);
  if (char* const memory = map_huge_pages(whole)) {
    // Threads get their pages side by side here; the driver gets them for one thread at a time.
    const std::size_t page = system_page_bytes();
    for (std::size_t at = 0; at < bytes; at += page) static_cast<volatile char*>(memory)[at] = 0;
    const DriverUse use;
    if (cudaHostRegister(memory, bytes, cudaHostRegisterPortable) == cudaSuccess)
      return PinnedPages(memory, UnpinPages{bytes});
    cudaGetLastError();  // or the next launch would seem to have failed
    unmap_huge_pages(memory, whole);
  }
  throw ResourceError("the system has no " + megabytes(bytes) +
                      " of host memory left that a GPU can copy from; give warpmer more memory, or lower -t "
                      "if it is above 1");
}

void UnpinPages::operator()(void* memory) const noexcept {
  {
    const DriverUse use;
    cudaHostUnregister(memory);
  }
  unmap_huge_pages(memory, whole_huge_pages(bytes));
}

}  // namespace warpmer::gpu::detail
