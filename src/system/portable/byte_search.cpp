#include "system/byte_search.h"

namespace warpmer::system {

const char* last_byte(const char* begin, char byte, std::size_t size) noexcept {
  while (size > 0) {
    if (begin[--size] == byte) return begin + size;
  }
  return nullptr;
}

}  // namespace warpmer::system
