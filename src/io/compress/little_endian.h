#pragma once
/// Whole numbers as BGZF and BAM store them.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace warpmer::io {

/// Returns the number of `size` bytes at `offset`, which are there.
inline std::uint32_t little_endian(std::string_view bytes, std::size_t offset, std::size_t size) {
  std::uint32_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[offset + i]);
  return value;
}

/// Appends the low `size` bytes of `value`.
template <class Bytes>
void append_little_endian(Bytes& bytes, std::uint64_t value, std::size_t size) {
  char text[sizeof value];
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(value >> (8 * i) & 0xff);
  bytes.append(std::string_view(text, size));
}

}  // namespace warpmer::io
