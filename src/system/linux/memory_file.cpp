#include "system/memory_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <cerrno>

namespace warpmer::system {

bool is_in_memory(int descriptor) noexcept {
  struct statfs status {};
  return ::fstatfs(descriptor, &status) == 0 && status.f_type == TMPFS_MAGIC;
}

bool is_in_memory(const std::string& path) noexcept {
  struct statfs status {};
  return ::statfs(path.c_str(), &status) == 0 && status.f_type == TMPFS_MAGIC;
}

int allocate_pages(int descriptor, std::uint64_t begin, std::uint64_t end) noexcept {
  while (::fallocate(descriptor, 0, static_cast<off_t>(begin), static_cast<off_t>(end - begin)) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

}  // namespace warpmer::system
