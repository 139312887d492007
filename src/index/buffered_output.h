#pragma once
/// A buffer in front of an output file, for what is written piece by piece.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "index/output_file.h"

namespace warpmer::index {

/// Failures are ResourceErrors that name the path. Without `finish`, what is still buffered is dropped and no
/// file appears.
class BufferedOutput {
 public:
  /// "-" is standard output.
  explicit BufferedOutput(const std::string& path);

  void write(std::string_view bytes);

  /// At least `bytes` bytes to write into; hand them over with `commit`.
  [[nodiscard]] char* reserve(std::size_t bytes);
  void commit(std::size_t bytes) noexcept { used_ += bytes; }

  /// Writes what is buffered; nothing more may be written. See OutputFile::complete.
  void complete();
  /// Completes the file, unless that has been done, and gives it its name.
  void finish();

  /// See OutputFile::temporary.
  [[nodiscard]] const std::string& temporary() { return file_.temporary(); }

  /// Bytes taken so far, buffered ones included.
  [[nodiscard]] std::uint64_t bytes_written() const noexcept { return offset_ + used_; }

 private:
  void flush();
  void write_through(const char* data, std::size_t bytes);

  OutputFile file_;
  std::uint64_t offset_ = 0;  ///< bytes handed to `file_`
  std::size_t capacity_;
  std::size_t used_ = 0;
  std::unique_ptr<char[]> buffer_;
};

}  // namespace warpmer::index
