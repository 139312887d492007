#include "system/disk.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace warpmer::system {

void read_in_order(int descriptor) noexcept { ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL); }

void will_need(int descriptor, std::uint64_t offset, std::uint64_t bytes) noexcept {
  ::posix_fadvise(descriptor, static_cast<off_t>(offset), static_cast<off_t>(bytes), POSIX_FADV_WILLNEED);
}

void give_up(int descriptor, std::uint64_t offset, std::uint64_t bytes) noexcept {
  ::posix_fadvise(descriptor, static_cast<off_t>(offset), static_cast<off_t>(bytes), POSIX_FADV_DONTNEED);
}

void begin_writing(int descriptor) noexcept {
  ::sync_file_range(descriptor, 0, 0, SYNC_FILE_RANGE_WRITE);  // all of it
}

int sync_content(int descriptor) noexcept {
  int result = 0;
  do result = ::fdatasync(descriptor);
  while (result != 0 && errno == EINTR);
  return result == 0 ? 0 : errno;
}

}  // namespace warpmer::system
