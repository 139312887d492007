#include "system/huge_pages.h"

#include <cerrno>
#include <cstring>

namespace warpmer::system {

void prefer_huge_pages(void* /*begin*/, std::size_t /*bytes*/) noexcept {}
void avoid_huge_pages(void* /*begin*/, std::size_t /*bytes*/) noexcept {}

/// POSIX has no advice after which pages are zero. New pages in the place of the old ones are.
void give_back_pages(void* begin, std::size_t bytes) noexcept {
  const int error = errno;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  if (::mmap(begin, bytes, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED) std::memset(begin, 0, bytes);
  errno = error;
}

}  // namespace warpmer::system
