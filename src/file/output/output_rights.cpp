#include "file/output/output_rights.h"

#include <sys/stat.h>
#include <unistd.h>

#include "system/access_list.h"

namespace warpmer::file {

void take_rights_of(const std::string& replaced, int fd, mode_t also) noexcept {
  struct stat old {
  }, own{};
  if (::stat(replaced.c_str(), &old) != 0 || !S_ISREG(old.st_mode) || ::fstat(fd, &own) != 0) return;
  const auto is_same = [&] { return own.st_uid == old.st_uid && own.st_gid == old.st_gid; };
  // Owners are the superuser's to give away, groups also a member's.
  if (!is_same() && ::fchown(fd, old.st_uid, old.st_gid) != 0 &&
      ::fchown(fd, static_cast<uid_t>(-1), old.st_gid) != 0) {
    // It stays this process's.
  }
  if (::fstat(fd, &own) != 0) return;
  mode_t mode = old.st_mode & 0777;
  if (own.st_gid != old.st_gid) mode &= ~(0070 & ~((mode & 0007) << 3));
  if (is_same() && system::copy_access_list(replaced, fd) && also == 0) return;
  ::fchmod(fd, mode | also);
}

}  // namespace warpmer::file
