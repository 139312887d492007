#include "io/deflate_window.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

namespace warpmer::io {
namespace {

unsigned byte(char c) { return static_cast<unsigned char>(c); }

}  // namespace

DeflateWindow::DeflateWindow() : table_{} {
  for (std::size_t i = 0; i < kBytes; ++i) table_[i] = static_cast<char>(i);
}

std::string_view DeflateWindow::text() const noexcept { return {table_.end() - size_, size_}; }

void DeflateWindow::append(std::string_view text) noexcept {
  const std::size_t taken = std::min(text.size(), kSize);
  char* const window = table_.data() + kBytes;
  std::memmove(window, window + taken, kSize - taken);
  std::memcpy(window + kSize - taken, text.data() + text.size() - taken, taken);
  size_ = std::min(size_ + taken, kSize);
}

std::string_view DeflateWindow::first_guess() {
  static const std::string window = [] {
    std::string bytes(kSize, '\0');
    for (std::size_t i = 0; i < kSize; ++i) bytes[i] = static_cast<char>(i % kBytes);
    return bytes;
  }();
  return window;
}

std::string_view DeflateWindow::second_guess() {
  static const std::string window = [] {
    std::string bytes(first_guess());
    for (std::size_t i = 0; i < kSize; ++i) bytes[i] = static_cast<char>(byte(bytes[i]) ^ (1 + i / kBytes));
    return bytes;
  }();
  return window;
}

bool DeflateWindow::resolve(char* first, const char* second, std::size_t size) const noexcept {
  const std::size_t unknown = kBytes + kSize - size_;  // places from kBytes to here have no text
  bool is_known = true;
  const auto resolve_byte = [&](std::size_t i) {
    const std::size_t place = (byte(first[i]) ^ byte(second[i])) * kBytes + byte(first[i]);
    is_known &= place < kBytes || place >= unknown;
    first[i] = table_[place];
  };
  std::size_t i = 0;
  for (; i + sizeof(std::uint64_t) <= size; i += sizeof(std::uint64_t)) {
    // Most text soon consists of copies of text that is there.
    if (std::memcmp(first + i, second + i, sizeof(std::uint64_t)) == 0) continue;
    for (std::size_t j = 0; j < sizeof(std::uint64_t); ++j) resolve_byte(i + j);
  }
  for (; i < size; ++i) resolve_byte(i);
  return is_known;
}

}  // namespace warpmer::io
