#pragma once
/// The text that deflate data may refer back to, and how to decompress without knowing it.
///
/// A thread that begins in the middle of a stream lacks the 32 KiB of text before, to which any copy may
/// refer. As what inflate does depends on the data alone and not on the text, it can be done with any window:
/// bytes that are copies of the unknown text come out as whatever stands there. Done **twice**, with two
/// windows that differ at every place and in a way that no other place has, the two texts differ just where
/// they came out of the window, and the pair of bytes tells where in it. When the window is known at last,
/// those bytes are looked up. (Kerbiriou and Chikhi, "Parallel decompression of gzip-compressed files and
/// random access to DNA sequences", 2019, and Knespel and Brunst, "Rapidgzip", 2023, write an inflate of
/// their own instead, to symbols of 16 bits; this way the library's runs, twice.)

#include <array>
#include <cstddef>
#include <string_view>

namespace warpmer::io {

class DeflateWindow {
 public:
  static constexpr std::size_t kSize = std::size_t{32} << 10;

  DeflateWindow();

  /// Returns the text before, as far as it is known and can be referred to; empty where a stream begins.
  [[nodiscard]] std::string_view text() const noexcept;
  void clear() noexcept { size_ = 0; }
  /// Moves on over `text`, which follows.
  void append(std::string_view text) noexcept;

  /// Return the two windows to guess with.
  static std::string_view first_guess();
  static std::string_view second_guess();

  /// Puts the text into `first` that two decompressions with the guesses stand for, which came out as `first`
  /// and `second`, `size` bytes each. False if it refers to what is before the beginning of the stream.
  bool resolve(char* first, const char* second, std::size_t size) const noexcept;

 private:
  bool resolve_known(char* first, const char* second, std::size_t size) const noexcept;
  bool resolve_all(char* first, const char* second, std::size_t size) const noexcept;

  static constexpr std::size_t kBytes = 256;  ///< number of bytes, which stand for themselves

  std::size_t size_ = 0;
  /// All bytes, and the window at its end: place (a ^ b) * 256 + a holds what the bytes a and b stand for.
  std::array<char, kBytes + kSize> table_;
};

}  // namespace warpmer::io
