#include "system/disk.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace warpmer::system {

// POSIX's advice on files is an option that macOS does not have.
#if _POSIX_ADVISORY_INFO > 0
void read_in_order(int descriptor) noexcept { ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL); }

void will_need(int descriptor, std::uint64_t offset, std::uint64_t bytes) noexcept {
  ::posix_fadvise(descriptor, static_cast<off_t>(offset), static_cast<off_t>(bytes), POSIX_FADV_WILLNEED);
}

void give_up(int descriptor, std::uint64_t offset, std::uint64_t bytes) noexcept {
  ::posix_fadvise(descriptor, static_cast<off_t>(offset), static_cast<off_t>(bytes), POSIX_FADV_DONTNEED);
}
#else
void read_in_order(int /*descriptor*/) noexcept {}
void will_need(int /*descriptor*/, std::uint64_t /*offset*/, std::uint64_t /*bytes*/) noexcept {}
void give_up(int /*descriptor*/, std::uint64_t /*offset*/, std::uint64_t /*bytes*/) noexcept {}
#endif

int sync_content(int descriptor) noexcept {
  int result = 0;
#ifdef F_FULLFSYNC
  // On macOS, fsync leaves the content in the drive's own cache.
  if (::fcntl(descriptor, F_FULLFSYNC) == 0) return 0;
#endif
#if _POSIX_SYNCHRONIZED_IO > 0
  do result = ::fdatasync(descriptor);
  while (result != 0 && errno == EINTR);
#else
  do result = ::fsync(descriptor);
  while (result != 0 && errno == EINTR);
#endif
  return result == 0 ? 0 : errno;
}

}  // namespace warpmer::system
