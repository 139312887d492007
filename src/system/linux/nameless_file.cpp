#include "system/nameless_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>

namespace warpmer::system {
namespace {

constexpr mode_t kNewFileMode = 0666;

/// Returns the umask of this process, without changing it, as umask(2) would for all threads. Nothing where
/// the kernel (before 4.7) does not tell, or /proc is not mounted.
std::optional<mode_t> file_mode_mask() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    mode_t mask = 0;
    if (std::sscanf(line.c_str(), "Umask: %o", &mask) == 1) return mask;
  }
  return std::nullopt;
}

}  // namespace

int open_nameless(const std::string& directory, mode_t mode) {
  return ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
}

/// Kernels and file systems say so in different ways.
bool lacks_nameless_files(int error) noexcept {
  return error == EOPNOTSUPP || error == EISDIR || error == EINVAL || error == ENOSYS;
}

int open_unlinked(const std::string& directory) {
  std::string path = directory + "/.warpmer-spill.XXXXXX";
  const int descriptor = ::mkostemp(path.data(), O_CLOEXEC);
  if (descriptor >= 0) ::unlink(path.c_str());
  return descriptor;
}

/// In file systems without ACLs, kernels before 6.0 do not apply the umask to such files. Where the directory
/// has a default ACL, that is applied, and no umask.
std::optional<mode_t> mode_of_nameless(const std::string& directory) {
  if (::getxattr(directory.c_str(), "system.posix_acl_default", nullptr, 0) > 0) return kNewFileMode;
  const std::optional<mode_t> mask = file_mode_mask();
  if (!mask) return std::nullopt;
  return kNewFileMode & ~*mask;
}

int name_nameless(int descriptor, const std::string& path) {
  const std::string self = fmt::format("/proc/self/fd/{}", descriptor);
  return ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

}  // namespace warpmer::system
