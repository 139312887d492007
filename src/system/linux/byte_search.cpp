#include "system/byte_search.h"

#include <cstring>

namespace warpmer::system {

const char* last_byte(const char* begin, char byte, std::size_t size) noexcept {
  return static_cast<const char*>(::memrchr(begin, byte, size));
}

}  // namespace warpmer::system
