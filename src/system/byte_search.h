#pragma once
/// Bytes in memory that are looked for from its end.

#include <cstddef>

namespace warpmer::system {

/// Returns the last of `size` bytes that is `byte`; null if none is.
const char* last_byte(const char* begin, char byte, std::size_t size) noexcept;

}  // namespace warpmer::system
