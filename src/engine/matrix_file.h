#pragma once
/// A table of k-mers and samples as text. Described in docs/matrix-format.md.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "io/byte_source.h"

namespace warpmer::engine {

/// What the first line of a matrix says.
struct MatrixFormat {
  std::uint32_t k = 31;
  bool canonical = true;
  bool presence = false;          ///< 1 for a sample that has the k-mer; else its count
  std::uint64_t min_samples = 1;  ///< k-mers of fewer samples were left out
  std::uint32_t hash_version = 1;
};

/// The two lines that a matrix begins with.
std::string matrix_header(const MatrixFormat& format, const std::vector<std::string>& samples);

/// Some whole rows of a matrix.
struct MatrixRows {
  std::string text;
  std::uint64_t ordinal = 0;     ///< 0, 1, 2, ... in the order of the file
  std::uint64_t first_line = 0;  ///< of the text, in the file
  std::uint64_t file_bytes = 0;  ///< of the file, as it is on disk, that were read for it
  std::string row_before;        ///< the row above the first one, as far as its k-mer goes; empty for none
  bool is_end = false;           ///< no more rows, and none in here
};

/// A row as it stands in the text.
struct MatrixRow {
  std::string_view kmer;
  std::size_t bytes = 0;      ///< without the line feed
  std::uint32_t samples = 0;  ///< that have the k-mer
};

/// A matrix opened for reading, plain or compressed.
class MatrixFile {
 public:
  /// "-" is standard input. InputError for what cannot be read or begins like no matrix. `threads` may
  /// decompress.
  MatrixFile(const std::string& path, unsigned threads);
  ~MatrixFile();
  MatrixFile(const MatrixFile&) = delete;
  MatrixFile& operator=(const MatrixFile&) = delete;

  /// As the user knows it, for messages.
  [[nodiscard]] const std::string& shown() const noexcept { return shown_; }
  /// As it is on disk; 0 for a pipe.
  [[nodiscard]] std::uint64_t file_bytes() const noexcept { return file_bytes_; }
  [[nodiscard]] const MatrixFormat& format() const noexcept { return format_; }
  [[nodiscard]] const std::vector<std::string>& samples() const noexcept { return samples_; }

  /// The next rows, about `kRowBytes` of them; then, once, the end. False after that. Thread-safe. InputError
  /// for a file that ends in the middle of a row.
  bool next(MatrixRows& rows);
  /// Makes `next` return false, or throw, soon.
  void cancel() noexcept { cancelled_ = true; }

  /// The row that `text` begins with. InputError, with the line, unless it has a k-mer's bases and a number
  /// for each sample. Thread-safe.
  [[nodiscard]] MatrixRow read_row(std::string_view text, std::uint64_t line) const;
  [[noreturn]] void fail(std::uint64_t line, std::string_view what) const;

  static constexpr std::size_t kRowBytes = std::size_t{256} << 10;

 private:
  std::string header_line();
  void read_format(std::string_view line);
  void read_samples(std::string_view line);
  bool read_rows(MatrixRows& rows);
  bool read_more(std::string& text, std::size_t bytes);

  std::string shown_;
  std::atomic<bool> cancelled_{false};
  std::unique_ptr<io::ByteSource> source_;
  std::uint64_t file_bytes_ = 0;
  MatrixFormat format_;
  std::vector<std::string> samples_;

  std::mutex mutex_;
  std::string rest_;              ///< what is read beyond the rows handed out
  std::uint64_t bytes_used_ = 0;  ///< of the file, for rows handed out and what is read beyond
  std::string row_before_;
  std::uint64_t next_line_ = 1;
  std::uint64_t next_ordinal_ = 0;
  bool is_read_ = false;
  bool is_done_ = false;
};

}  // namespace warpmer::engine
