#pragma once
/// A file of text, compressed as its name says.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "file/output/buffered_output.h"

namespace warpmer::formats {

/// A BufferedOutput whose text is compressed as BGZF when the name of the file ends in `.gz`
/// (formats/text/ending.h). Blocks hold equal parts of the text, so that the file is the same for any number
/// of threads and however the text comes in pieces.
class TextFile {
 public:
  /// "-" is standard output. `threads`: to compress with, that of the caller included.
  explicit TextFile(const std::string& path, unsigned threads = 1);

  void write(std::string_view text, const Progress& so_far = {});

  /// Do the same as those of BufferedOutput.
  [[nodiscard]] char* reserve(std::size_t bytes);
  void commit(std::size_t bytes, const Progress& so_far = {});
  void flush() { output_.flush(); }
  void complete();
  void finish();
  [[nodiscard]] const std::string& temporary() { return output_.temporary(); }
  /// Returns the bytes of the file; what is still to be compressed is not among them.
  [[nodiscard]] std::uint64_t bytes_written() const noexcept { return output_.bytes_written(); }

 private:
  void pack(std::size_t bytes);

  file::BufferedOutput output_;
  unsigned threads_;
  // Only what is compressed: text that waits for it, of which `used_` bytes are there.
  std::size_t capacity_ = 0;  ///< whole blocks; 0: nothing is compressed
  std::vector<char> text_;
  std::size_t used_ = 0;
  Progress so_far_;
  std::vector<std::string> packed_;  ///< one for each thread
  bool is_complete_ = false;
};

}  // namespace warpmer::formats
