#pragma once
/// Counts in decimal digits.

#include <charconv>
#include <cstddef>
#include <cstdint>

namespace warpmer::cpu {

/// The most characters of a count.
inline constexpr std::size_t kCountRoom = 20;

/// Writes a count; returns where it ends.
[[gnu::always_inline]] inline char* write_count(char* out, std::uint64_t count) {
  if (count < 10) {  // most are
    *out = static_cast<char>('0' + count);
    return out + 1;
  }
  return std::to_chars(out, out + kCountRoom, count).ptr;
}

}  // namespace warpmer::cpu
