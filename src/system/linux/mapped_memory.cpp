#include "system/mapped_memory.h"

#include <sys/mman.h>

namespace warpmer::system {

void will_need_mapped(void* begin, std::size_t bytes) noexcept { ::madvise(begin, bytes, MADV_WILLNEED); }
void release_mapped(void* begin, std::size_t bytes) noexcept { ::madvise(begin, bytes, MADV_DONTNEED); }

/// Moving pages costs nothing, unlike copying them, and the copy needs no second place to be in.
void* grow_mapping(void* old, std::size_t bytes, std::size_t larger) noexcept {
  void* const data = old == nullptr
                         ? ::mmap(nullptr, larger, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                         : ::mremap(old, bytes, larger, MREMAP_MAYMOVE);
  return data == MAP_FAILED ? nullptr : data;
}

}  // namespace warpmer::system
