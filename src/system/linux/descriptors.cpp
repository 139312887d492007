#include "system/descriptors.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "system/number_path.h"

namespace warpmer::system {

int descriptor_named(std::string_view path) noexcept {
  const int number = number_behind_folder(path, "/dev/fd/");
  return number >= 0 ? number : number_behind_folder(path, "/proc/self/fd/");
}

int open_again(int descriptor) {
  return ::open(fmt::format("/proc/self/fd/{}", descriptor).c_str(), O_RDONLY | O_CLOEXEC);
}

int make_pipe(int (&ends)[2], bool without_waiting) noexcept {
  return ::pipe2(ends, O_CLOEXEC | (without_waiting ? O_NONBLOCK : 0)) == 0 ? 0 : errno;
}

void widen_pipe(int end) noexcept { ::fcntl(end, F_SETPIPE_SZ, 1 << 20); }

}  // namespace warpmer::system
