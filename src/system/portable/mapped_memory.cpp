#include "system/mapped_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace warpmer::system {

void will_need_mapped(void* begin, std::size_t bytes) noexcept {
  ::posix_madvise(begin, bytes, POSIX_MADV_WILLNEED);
}

/// POSIX's own advice may do nothing (glibc has it so). Systems have that of BSD, too: pages of a file come
/// back on the next touch.
void release_mapped(void* begin, std::size_t bytes) noexcept {
#ifdef MADV_DONTNEED
  ::madvise(begin, bytes, MADV_DONTNEED);
#else
  ::posix_madvise(begin, bytes, POSIX_MADV_DONTNEED);
#endif
}

/// The copy takes the place of the old memory piece by piece: both are never there as a whole.
void* grow_mapping(void* old, std::size_t bytes, std::size_t larger) noexcept {
  constexpr std::size_t kPiece = std::size_t{1} << 20;  // whole pages, of whatever size
  void* const data = ::mmap(nullptr, larger, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  char* const from = static_cast<char*>(old);
  char* const to = static_cast<char*>(data);
  for (std::size_t done = 0; done < bytes; done += kPiece) {
    const std::size_t size = std::min(kPiece, bytes - done);
    std::memcpy(to + done, from + done, size);
    ::munmap(from + done, size);
  }
  return data;
}

}  // namespace warpmer::system
