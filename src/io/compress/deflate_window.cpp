#include "io/compress/deflate_window.h"

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
  return size_ == kSize ? resolve_known(first, second, size) : resolve_all(first, second, size);
}

/// With a whole window every place has text. It goes in steps whose places are computed side by side.
bool DeflateWindow::resolve_known(char* first, const char* second, std::size_t size) const noexcept {
  constexpr std::size_t kStep = 16;
  std::size_t i = 0;
  for (; i + kStep <= size; i += kStep) {
    if (std::memcmp(first + i, second + i, kStep) == 0) continue;  // stands for itself
    std::array<std::uint16_t, kStep> places;
    for (std::size_t j = 0; j < kStep; ++j) {
      places[j] =
          static_cast<std::uint16_t>((byte(first[i + j]) ^ byte(second[i + j])) << 8 | byte(first[i + j]));
    }
    for (std::size_t j = 0; j < kStep; ++j) first[i + j] = table_[places[j]];
  }
  return resolve_all(first + i, second + i, size - i);
}

bool DeflateWindow::resolve_all(char* first, const char* second, std::size_t size) const noexcept {
  const std::size_t unknown = kBytes + kSize - size_;  // places from kBytes to here have no text
  bool is_known = true;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t place = (byte(first[i]) ^ byte(second[i])) * kBytes + byte(first[i]);
    is_known &= place < kBytes || place >= unknown;
    first[i] = table_[place];
  }
  return is_known;
}

}  // namespace warpmer::io
