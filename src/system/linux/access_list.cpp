#include "system/access_list.h"

#include <sys/xattr.h>

#include <array>

namespace warpmer::system {

bool copy_access_list(const std::string& from, int descriptor) noexcept {
  constexpr const char* kAccessList = "system.posix_acl_access";
  std::array<char, 4096> list;
  const ssize_t bytes = ::getxattr(from.c_str(), kAccessList, list.data(), list.size());
  if (bytes > 0) {
    return ::fsetxattr(descriptor, kAccessList, list.data(), static_cast<std::size_t>(bytes), 0) == 0;
  }
  ::fremovexattr(descriptor, kAccessList);  // of the directory's default
  return false;
}

}  // namespace warpmer::system
