#include "file/program_module.h"

#include <filesystem>
#include <system_error>

#include "system/program.h"

namespace warpmer::file {

std::string program_module(const std::string& name) {
  std::error_code error;
  const auto folder = std::filesystem::path(system::program_path()).parent_path();
  for (const auto& path : {folder / name, folder.parent_path() / "lib" / "warpmer" / name,
                           folder.parent_path() / "lib64" / "warpmer" / name,
                           folder.parent_path() / "lib" / "x86_64-linux-gnu" / "warpmer" / name}) {
    if (std::filesystem::exists(path, error)) return path.string();
  }
  return {};
}

}  // namespace warpmer::file
