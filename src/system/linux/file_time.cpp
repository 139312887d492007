#include "system/file_time.h"

namespace warpmer::system {

timespec changed_at(const struct stat& status) noexcept { return status.st_mtim; }

}  // namespace warpmer::system
