#include "system/exchange_names.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace warpmer::system {

bool exchange_names(const std::string& a, const std::string& b) noexcept {
  constexpr unsigned kExchange = 2;  // RENAME_EXCHANGE; older C libraries have no renameat2
  return ::syscall(SYS_renameat2, AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), kExchange) == 0;
}

}  // namespace warpmer::system
