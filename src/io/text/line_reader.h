#pragma once
/// Reads any text of lines: lists of files and of k-mers, tables.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "file/byte_source.h"

namespace warpmer::io {

/// Returns what stands in a line, without the blanks around it; empty for a line of blanks, and for a
/// comment, whose first character is '#'.
std::string_view entry_of_line(std::string_view line);

/// Returns what stands before an entry's first blank.
std::string_view first_word(std::string_view entry);

/// Takes the first line off a text whose lines end in line feeds, as LineReader gives them.
std::string_view take_line(std::string_view& text);

/// Lines that are longer than this are none, but a file of another kind, which would otherwise be read into
/// memory whole. Also holds what the error then says.
struct LineLimit {
  std::size_t bytes = 0;
  std::string_view refusal;        ///< "this line is too long for a k-mer"; a literal
  bool is_lack_of_memory = false;  ///< then it is a ResourceError
};

/// Some whole lines.
struct LineText {
  std::string text;              ///< each line ends in a line feed, the last one, too
  std::uint64_t first_line = 1;  ///< number of the first one in the file
  std::uint64_t disk_bytes = 0;  ///< bytes of the file, as it is on disk, that were read for it
};

/// Lines may end in LF, CR LF or CR, each as it likes; a byte order mark is skipped. gzip and BGZF are
/// decompressed. For one thread at a time.
class LineReader {
 public:
  /// "-" is standard input. `threads` may decompress. InputError when the file cannot be opened.
  LineReader(const std::string& path, unsigned threads, LineLimit limit);
  ~LineReader();

  /// Returns the file's name as the user knows it, for messages.
  [[nodiscard]] const std::string& shown() const noexcept { return shown_; }
  /// Returns the size of the file as it is on disk; 0 for a pipe.
  [[nodiscard]] std::uint64_t file_bytes() const noexcept { return file_bytes_; }

  /// Sets the limit for lines from now on.
  void set_limit(LineLimit limit) noexcept { limit_ = limit; }

  /// Takes the next line, as it stands there, without its end; valid until the next call. False at the end.
  /// InputError, with the line's number, for one that is too long; and for UTF-16.
  bool next_line(std::string_view& line);
  /// Takes the next line that is neither empty nor a comment, without the blanks around it.
  bool next_entry(std::string_view& entry);
  /// Takes at least so many bytes of lines, if there are, and not many more; else as next_line.
  bool next_text(LineText& text, std::size_t least_bytes = 1);

  /// Returns the number of the last line that was given out, from 1 on.
  [[nodiscard]] std::uint64_t line() const noexcept { return line_; }
  /// True, once all is read, when the last line had no end, and may be cut off.
  [[nodiscard]] bool is_cut_off() const noexcept { return is_cut_off_; }
  /// Makes reading throw Cancelled soon; by any thread.
  void cancel() noexcept { cancelled_ = true; }
  /// Throws the InputError for what is wrong in the last line that was given out.
  [[noreturn]] void fail(std::string_view what) const;

 private:
  void read_more(std::string& text);
  void begin();
  void end_lines_alike(std::string& text, std::size_t begin);
  [[noreturn]] void refuse_long_line();

  std::string shown_;
  std::atomic<bool> cancelled_{false};
  std::unique_ptr<file::ByteSource> source_;
  std::uint64_t file_bytes_ = 0;
  LineLimit limit_;
  std::unique_ptr<char[]> buffer_;  ///< what was read last
  std::string rest_;                ///< text that has been read and not been given out, from `at_` on
  std::size_t at_ = 0;
  std::uint64_t line_ = 0;
  std::uint64_t disk_bytes_ = 0;  ///< bytes that were read for what has been given out as text
  bool is_after_return_ = false;  ///< a line feed at the beginning of what comes belongs to a line's end
  bool has_begun_ = false;
  bool is_read_ = false;
  bool is_cut_off_ = false;
};

}  // namespace warpmer::io
