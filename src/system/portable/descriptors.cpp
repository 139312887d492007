#include "system/descriptors.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "system/number_path.h"

namespace warpmer::system {

int descriptor_named(std::string_view path) noexcept { return number_behind_folder(path, "/dev/fd/"); }

/// To open /dev/fd/N is to duplicate N in most systems: its place would be moved, too.
int open_again(int /*descriptor*/) {
  errno = EOPNOTSUPP;
  return -1;
}

/// A program that another thread starts in between gets the ends.
int make_pipe(int (&ends)[2], bool without_waiting) noexcept {
  if (::pipe(ends) != 0) return errno;
  for (const int end : ends) {
    ::fcntl(end, F_SETFD, FD_CLOEXEC);
    if (without_waiting) ::fcntl(end, F_SETFL, ::fcntl(end, F_GETFL) | O_NONBLOCK);
  }
  return 0;
}

void widen_pipe(int /*end*/) noexcept {}

}  // namespace warpmer::system
