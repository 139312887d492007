#include "system/nameless_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>

namespace warpmer::system {

int open_nameless(const std::string& /*directory*/, mode_t /*mode*/) {
  errno = EOPNOTSUPP;
  return -1;
}

bool lacks_nameless_files(int error) noexcept { return error == EOPNOTSUPP; }

int open_unlinked(const std::string& directory) {
  std::string path = directory + "/.warpmer-spill.XXXXXX";
  const int descriptor = ::mkstemp(path.data());
  if (descriptor < 0) return -1;
  ::unlink(path.c_str());
  ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return descriptor;
}

std::optional<mode_t> mode_of_nameless(const std::string& /*directory*/) { return std::nullopt; }

int name_nameless(int /*descriptor*/, const std::string& /*path*/) { return EOPNOTSUPP; }

}  // namespace warpmer::system
