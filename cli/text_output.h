#pragma once
/// Where a command's text goes: standard output, or a file that appears only when it is complete.

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "index/output_file.h"

namespace warpmer::cli {

/// A buffer in front of an OutputFile. Failures are ResourceErrors that name the path. Without
/// `finish`, what is still buffered is dropped and no file appears.
class TextOutput {
 public:
  /// "-" is standard output.
  explicit TextOutput(const std::string& path);

  void write(std::string_view text);

  template <typename... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    scratch_.clear();
    fmt::format_to(std::back_inserter(scratch_), format, std::forward<Args>(args)...);
    write(scratch_);
  }

  /// At least `bytes` bytes to write into; hand them over with `commit`.
  [[nodiscard]] char* reserve(std::size_t bytes);
  void commit(std::size_t bytes) noexcept { used_ += bytes; }

  /// Writes what is buffered and gives the file its name.
  void finish();

 private:
  void flush();
  void write_through(const char* data, std::size_t bytes);

  index::OutputFile file_;
  std::uint64_t offset_ = 0;  ///< bytes handed to `file_`
  std::size_t capacity_;
  std::size_t used_ = 0;
  std::unique_ptr<char[]> buffer_;
  std::string scratch_;
};

}  // namespace warpmer::cli
