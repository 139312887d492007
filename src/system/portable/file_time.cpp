#include "system/file_time.h"

namespace warpmer::system {

timespec changed_at(const struct stat& status) noexcept {
#ifdef __APPLE__
  return status.st_mtimespec;
#else
  return status.st_mtim;
#endif
}

}  // namespace warpmer::system
