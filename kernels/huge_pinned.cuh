#pragma once
/// Pinned host memory in huge pages.

#include <cuda_runtime.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>

namespace warpmer::gpu {

/// Memory that devices copy from and to by themselves, in huge pages where the system gives some: that is
/// pinned in a tenth of the time. For the context of the current device, and all others of the process. Null
/// when there is none. `bytes` are rounded up to huge pages.
inline char* allocate_huge_pinned(std::size_t bytes) noexcept {
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  bytes = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  void* const memory = std::aligned_alloc(kHugePage, bytes);
  if (memory == nullptr) return nullptr;
  ::madvise(memory, bytes, MADV_HUGEPAGE);
  // The driver pins for one thread at a time: pages that it finds are there were made by many.
  constexpr std::size_t kPage = 4096;
  for (std::size_t at = 0; at < bytes; at += kPage) static_cast<volatile char*>(memory)[at] = 0;
  if (cudaHostRegister(memory, bytes, cudaHostRegisterPortable) == cudaSuccess)
    return static_cast<char*>(memory);
  cudaGetLastError();  // or the next launch would seem to have failed
  std::free(memory);
  return nullptr;
}

inline void release_huge_pinned(char* memory) noexcept {
  if (memory == nullptr) return;
  cudaHostUnregister(memory);
  std::free(memory);
}

}  // namespace warpmer::gpu
