#pragma once
/// A buffer in front of an output file, for what is written piece by piece.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/progress.h"
#include "file/output/output_file.h"

namespace warpmer::file {

/// Failures are ResourceErrors that name the path. Without `finish`, what is still buffered is dropped and no
/// file appears.
///
/// A caller that knows how much of everything is done with these bytes says so, in `so_far`; then the error
/// of a full disk says how much is still needed, about (OutputFile::expect). What is written before a share
/// is first told is taken for a header, of which no more comes.
class BufferedOutput {
 public:
  /// "-" is standard output.
  explicit BufferedOutput(const std::string& path);

  void write(std::string_view bytes, const Progress& so_far = {});
  /// Writes a number as it is in memory.
  template <class Number>
  void put(Number number) {
    std::memcpy(reserve(sizeof number), &number, sizeof number);
    commit(sizeof number);
  }

  /// Returns at least `bytes` bytes to write into; hand them over with `commit`.
  [[nodiscard]] char* reserve(std::size_t bytes);
  void commit(std::size_t bytes, const Progress& so_far = {}) noexcept {
    expect_more(bytes, so_far);
    used_ += bytes;
  }

  /// Writes bytes again that have been taken, from `offset` on: not to a stream.
  void rewrite(std::uint64_t offset, std::string_view bytes);

  /// See OutputFile::set_mode.
  void set_mode(unsigned mode) noexcept { file_.set_mode(mode); }

  /// Says how much is to be written in all, about: for a caller that knows it beforehand.
  void expect(std::uint64_t bytes) noexcept { file_.expect(bytes); }

  /// Writes what is buffered: for a stream that is read meanwhile.
  void flush();
  /// Does so; nothing more may be written. See OutputFile::complete.
  void complete();
  /// Completes the file, unless that has been done, and gives it its name.
  void finish();

  /// See OutputFile::temporary.
  [[nodiscard]] const std::string& temporary() { return file_.temporary(); }

  /// Returns the bytes taken so far, buffered ones included.
  [[nodiscard]] std::uint64_t bytes_written() const noexcept { return offset_ + used_; }

 private:
  void expect_more(std::size_t bytes, const Progress& so_far) noexcept;
  void write_through(const char* data, std::size_t bytes);

  OutputFile file_;
  std::uint64_t offset_ = 0;        ///< bytes handed to `file_`
  std::uint64_t header_bytes_ = 0;  ///< taken before a share was told
  bool is_share_known_ = false;
  std::size_t capacity_;
  std::size_t used_ = 0;
  std::unique_ptr<char[]> buffer_;
};

/// Finishes files that are of use only together: either all get their names, or none.
void finish_together(std::span<BufferedOutput* const> files);

}  // namespace warpmer::file
