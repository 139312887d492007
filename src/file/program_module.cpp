#include "file/program_module.h"

#include <filesystem>
#include <system_error>

#include "system/program.h"

namespace warpmer::file {

std::string program_module(const std::string& name) {
  std::error_code error;
  const auto folder = std::filesystem::path(system::program_path()).parent_path();
  if (folder.empty()) return {};  // else the working folder would be looked at
  for (const char* place : {".", "../lib/warpmer", "../lib64/warpmer", "../lib/x86_64-linux-gnu/warpmer",
                            "../lib/aarch64-linux-gnu/warpmer"}) {
    const std::filesystem::path path = (folder / place / name).lexically_normal();
    if (std::filesystem::exists(path, error)) return path.string();
  }
  return {};
}

}  // namespace warpmer::file
