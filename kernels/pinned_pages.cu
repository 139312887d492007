#include <sys/mman.h>

#include <cstdlib>

#include "core/error.h"
#include "pinned_pages.cuh"

namespace warpmer::gpu {

namespace {

constexpr std::size_t kPage = 4096;

}  // namespace

char* try_allocate_pinned_pages(std::size_t bytes) {
  const std::size_t rounded = pinned_pages_bytes(bytes);
  auto* const memory = static_cast<char*>(std::aligned_alloc(kHugePage, rounded));
  if (memory == nullptr) return nullptr;
  ::madvise(memory, rounded, MADV_HUGEPAGE);
  // Threads get their pages side by side here; the driver gets them for one thread at a time.
  for (std::size_t at = 0; at < bytes; at += kPage) static_cast<volatile char*>(memory)[at] = 0;
  const DriverUse use;
  if (cudaHostRegister(memory, bytes, cudaHostRegisterPortable) == cudaSuccess) return memory;
  cudaGetLastError();  // or the next launch would seem to have failed
  std::free(memory);
  return nullptr;
}

void free_pinned_pages(char* memory) noexcept {
  const DriverUse use;
  cudaHostUnregister(memory);
  std::free(memory);
}

void* detail::PinnedPages::allocate(std::size_t bytes) {
  if (char* const memory = try_allocate_pinned_pages(bytes)) return memory;
  throw ResourceError(
      "the system has no " + megabytes(bytes) +
      " of host memory left that a GPU can copy from; give warpmer more memory, or fewer threads");
}

}  // namespace warpmer::gpu
