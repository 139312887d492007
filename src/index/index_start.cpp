#include "index/index_start.h"

#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "file/index_magic.h"

namespace warpmer::index {
namespace {

bool begins_with(const std::string& path, std::string_view magic) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed)) return false;
  std::string start(magic.size(), '\0');
  std::ifstream(path, std::ios::binary).read(start.data(), static_cast<std::streamsize>(start.size()));
  return start == magic;
}

}  // namespace

bool is_index_file(const std::string& path) { return begins_with(path, file::kIndexMagic); }
bool is_position_file(const std::string& path) { return begins_with(path, file::kPositionMagic); }

}  // namespace warpmer::index
