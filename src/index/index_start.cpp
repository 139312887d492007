#include "index/index_start.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "index/index_layout.h"

namespace warpmer::index {

bool is_index_file(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed)) return false;
  constexpr auto kMagic = layout::kIndexKind.magic;
  std::array<char, kMagic.size()> start{};
  std::ifstream(path, std::ios::binary).read(start.data(), start.size());
  return std::memcmp(start.data(), kMagic.data(), kMagic.size()) == 0;
}

}  // namespace warpmer::index
