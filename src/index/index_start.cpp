#include "index/index_start.h"

#include <filesystem>
#include <string_view>
#include <system_error>

#include "file/first_bytes.h"
#include "file/index_magic.h"

namespace warpmer::index {
namespace {

bool begins_with(const std::string& path, std::string_view magic) {
  std::error_code failed;
  return std::filesystem::is_regular_file(path, failed) && file::first_bytes(path, magic.size()) == magic;
}

}  // namespace

bool is_index_file(const std::string& path) { return begins_with(path, file::kIndexMagic); }
bool is_position_file(const std::string& path) { return begins_with(path, file::kPositionMagic); }

}  // namespace warpmer::index
