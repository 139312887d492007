#include "engine/tmp_directory.h"

#include <cstdlib>
#include <filesystem>

namespace warpmer::engine {

std::string tmp_directory(const std::string& chosen, const std::string& output) {
  if (!chosen.empty()) return chosen;
  if (const char* given = std::getenv("TMPDIR"); given != nullptr && *given != '\0') return given;
  // An output that is there and no file is a pipe or a device.
  const std::filesystem::path path(output);
  std::error_code ignored;
  if (output == "-" ||
      (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored)))
    return "/tmp";
  return path.has_parent_path() ? path.parent_path().string() : ".";
}

}  // namespace warpmer::engine
