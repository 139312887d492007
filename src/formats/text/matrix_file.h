#pragma once
/// A table of k-mers and samples as text. Described in docs/matrix-format.md.

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "io/text/line_reader.h"
#include "kmer/hash.h"

namespace warpmer::formats {

/// The facts that the first line of a matrix says.
struct MatrixFormat {
  std::uint32_t k = 31;
  bool canonical = true;
  bool presence = false;          ///< 1 for a sample that has the k-mer; else its count
  std::uint64_t min_samples = 1;  ///< k-mers of fewer samples were left out
  std::uint32_t hash_version = kHashVersion;
};

/// Returns the two lines that a matrix begins with.
std::string matrix_header(const MatrixFormat& format, const std::vector<std::string>& samples);

/// Some whole rows of a matrix.
struct MatrixRows : io::LineText {
  std::uint64_t ordinal = 0;  ///< 0, 1, 2, ... in the order of the file
  std::string row_before;     ///< the row above the first one, as far as its k-mer goes; empty for none
  bool is_end = false;        ///< no more rows, and none in here
};

/// A row as it stands in the text.
struct MatrixRow {
  std::string_view kmer;
  std::size_t bytes = 0;      ///< without the line feed
  std::uint32_t samples = 0;  ///< number of samples that have the k-mer
};

/// A matrix opened for reading, plain or compressed.
class MatrixFile {
 public:
  /// "-" is standard input. InputError for what cannot be read or begins like no matrix; ResourceError for
  /// names of samples that take more than `most_name_bytes`. `threads` may decompress.
  MatrixFile(const std::string& path, unsigned threads, std::uint64_t most_name_bytes = kMostNameBytes);

  /// Returns the file's name as the user knows it, for messages.
  [[nodiscard]] const std::string& shown() const noexcept { return lines_.shown(); }
  /// Returns the size of the file as it is on disk; 0 for a pipe.
  [[nodiscard]] std::uint64_t file_bytes() const noexcept { return lines_.file_bytes(); }
  [[nodiscard]] const MatrixFormat& format() const noexcept { return format_; }
  [[nodiscard]] const std::vector<std::string>& samples() const noexcept { return samples_; }

  /// Takes the next rows, about `kRowBytes` of them; then, once, the end. False after that. Thread-safe.
  /// InputError for a file that ends in the middle of a row.
  bool next(MatrixRows& rows);
  /// Makes `next` return false, or throw, soon.
  void cancel() noexcept { lines_.cancel(); }

  /// Returns the row that `text` begins with. InputError, with the line, unless it has a k-mer's bases and a
  /// number for each sample. Thread-safe.
  [[nodiscard]] MatrixRow read_row(std::string_view text, std::uint64_t line) const;
  [[noreturn]] void fail(std::uint64_t line, std::string_view what) const;

  static constexpr std::size_t kRowBytes = std::size_t{256} << 10;
  static constexpr std::uint64_t kMostNameBytes = std::uint64_t{64} << 20;

 private:
  void read_format(std::string_view line);
  void read_samples(std::string_view line);
  bool read_rows(MatrixRows& rows);

  io::LineReader lines_;
  MatrixFormat format_;
  std::vector<std::string> samples_;

  std::mutex mutex_;
  std::string row_before_;
  std::uint64_t next_ordinal_ = 0;
  bool is_done_ = false;
};

}  // namespace warpmer::formats
