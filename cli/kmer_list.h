#pragma once
/// A list of k-mers in a text file, handed out in chunks.

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace warpmer::cli {

/// Some whole lines of the file.
struct KmerChunk {
  std::string text;
  std::uint64_t ordinal = 0;     ///< 0, 1, 2, ... in file order
  std::uint64_t first_line = 1;  ///< number of the first line in the file
};

/// One k-mer a line: what stands before the first blank, so that the output of `dump` will do. Empty
/// lines are skipped. Thread-safe.
class KmerList {
 public:
  /// "-" is standard input. InputError when the file cannot be read.
  explicit KmerList(const std::string& path);
  ~KmerList();
  KmerList(const KmerList&) = delete;
  KmerList& operator=(const KmerList&) = delete;

  /// False at the end of the file.
  bool next(KmerChunk& chunk);

  /// Bytes of the file; 0 when that is unknown (a pipe).
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  /// As the user knows it, for messages.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  bool read_more(std::string& text);

  std::string name_;
  int descriptor_ = -1;
  std::uint64_t bytes_ = 0;
  std::mutex mutex_;
  std::string rest_;  ///< an unfinished line
  std::uint64_t next_ordinal_ = 0;
  std::uint64_t next_line_ = 1;
  bool ended_ = false;
};

/// The k-mer of a line; empty for an empty line.
std::string_view kmer_of_line(std::string_view line);

}  // namespace warpmer::cli
