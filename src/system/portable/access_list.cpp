#include "system/access_list.h"

namespace warpmer::system {

/// POSIX has none. The mode that is set afterwards caps what a list of the directory's gives.
bool copy_access_list(const std::string& /*from*/, int /*descriptor*/) noexcept { return false; }

}  // namespace warpmer::system
