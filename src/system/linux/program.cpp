#include "system/program.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

namespace warpmer::system {

std::string program_path() {
  std::error_code failed;
  return std::filesystem::read_symlink("/proc/self/exe", failed).string();
}

char** environment_variables() noexcept { return environ; }

}  // namespace warpmer::system
