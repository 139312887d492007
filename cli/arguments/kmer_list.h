#pragma once
/// A list of k-mers in a text file, handed out in chunks.

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "io/text/line_reader.h"

namespace warpmer::cli {

/// Some whole lines of the file.
struct KmerChunk : io::LineText {
  std::uint64_t ordinal = 0;  ///< 0, 1, 2, ... in file order
};

/// A list has one k-mer a line, before the first blank, so that the output of `dump` will do. Empty lines and
/// comments are skipped. Thread-safe.
class KmerList {
 public:
  /// "-" is standard input. Throws an InputError when the file cannot be read.
  explicit KmerList(const std::string& path);

  /// Reads the next chunk; returns false at the end of the file.
  bool next(KmerChunk& chunk);
  /// Makes all later calls of `next` return false.
  void cancel() noexcept;

  /// Returns the bytes of the file; 0 when they are unknown (a pipe).
  [[nodiscard]] std::uint64_t bytes() const noexcept { return lines_.file_bytes(); }
  /// Returns how many of so many threads find a chunk for each of them.
  [[nodiscard]] unsigned useful_threads(unsigned threads) const noexcept;
  /// Returns whether a file, by its size, has work for one thread at most.
  [[nodiscard]] static bool is_short(const std::string& path);
  /// Returns the file's name as the user knows it, for messages.
  [[nodiscard]] const std::string& name() const noexcept { return lines_.shown(); }

 private:
  std::mutex mutex_;
  io::LineReader lines_;
  std::uint64_t next_ordinal_ = 0;
  bool is_done_ = false;
};

/// Returns the k-mer of a line; empty for an empty line and for a comment. Throws a UsageError for a second
/// k-mer behind it, and for a line as sequences have it.
std::string_view kmer_of_line(std::string_view line);

}  // namespace warpmer::cli
