#pragma once
/// FASTA and FASTQ, record by record, in place: sequences of one line stay where they are in the text,
/// those of several lines are closed up over their line ends.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/text/batch.h"
#include "io/text/input_options.h"

namespace warpmer::io {

/// Text to parse: [pos, size) is still to be looked at.
struct Window {
  char* text = nullptr;
  std::size_t size = 0;
  std::size_t pos = 0;
  bool is_at_end = false;  ///< no text follows
};

/// A FASTA sequence that is not complete yet.
struct OpenSequence {
  std::uint32_t name_offset = 0;
  std::uint32_t name_length = 0;
  std::uint32_t header_length = 0;  ///< from the name to the first base
  std::size_t begin = 0;            ///< its bases are [begin, end) in the window
  std::size_t end = 0;
  std::uint64_t first_base = 0;    ///< position in the record of the one at `begin`
  bool is_in_line = false;         ///< the line that `end` is in goes on
  bool has_bases_in_line = false;  ///< and there was more in it than blanks
};

class RecordParser {
 public:
  /// `most_pieces` is how many pieces `parse` fills a list with.
  RecordParser(std::string file, const InputOptions& options, std::size_t most_pieces);

  /// Adds a piece for each record that is complete, and moves `window.pos` past it, until the list is
  /// full. Ends before a record that needs more text, but for a FASTA sequence: that is closed up as far as
  /// it goes (see `sequence`), so that the window ends with it and the next text can be read right behind it.
  /// At the end of the text everything is used up, or the list is full, or an InputError is thrown.
  void parse(Window& window, std::vector<Piece>& pieces);

  /// Returns the FASTA sequence that is not complete yet, if there is one.
  [[nodiscard]] std::optional<OpenSequence>& sequence() noexcept { return sequence_; }
  [[nodiscard]] const std::optional<OpenSequence>& sequence() const noexcept { return sequence_; }

  /// Adds the bases of the sequence so far as a piece, with more to follow; what the next piece is to
  /// repeat of them stays in `sequence`.
  void hand_over_part(std::vector<Piece>& pieces);

  [[nodiscard]] std::uint64_t records() const noexcept { return records_; }
  /// Returns the number of lines parsed so far, as error messages count them.
  [[nodiscard]] std::uint64_t lines() const noexcept { return lines_; }
  /// Counts records and lines that were parsed elsewhere.
  void skip(std::uint64_t records, std::uint64_t lines) noexcept {
    records_ += records;
    lines_ += lines;
  }

 private:
  /// A line: its text is [begin, end), the next line starts at `next`.
  struct Line {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t next = 0;
    [[nodiscard]] std::size_t size() const { return end - begin; }
  };
  /// The lines of a FASTQ record.
  struct FastqLines {
    Line header;
    Line first_bases;
    Line plus;
    std::size_t bases = 0;  ///< characters in all sequence lines
    std::size_t base_lines = 0;
    Line first_quality;
    std::size_t quality = 0;  ///< characters in all quality lines
    std::size_t quality_lines = 0;
    std::size_t next = 0;  ///< place at which the next record starts
    bool is_cut = false;   ///< the text ends in it, and it is left out
  };

  // record_parser.cpp
  bool skip_blank_lines(Window& window);
  bool skip_byte_order_mark(Window& window);
  void refuse_sam(const Window& window) const;
  static bool shows_line(const Window& window);
  std::optional<Line> header_at(const Window& window, std::size_t pos) const;
  static std::size_t find_name(const Window& window, const Line& header);
  [[noreturn]] void fail_unexpected_line(const Window& window) const;
  static std::optional<Line> line_at(const Window& window, std::size_t pos);
  static std::optional<Line> trimmed_line_at(const Window& window, std::size_t pos);

  // fasta.cpp
  bool start_fasta(Window& window);
  bool continue_fasta(Window& window, std::vector<Piece>& pieces);
  bool gather_sequence(Window& window);
  bool copy_bases(Window& window, std::size_t begin, std::size_t end, bool is_whole_line);
  [[noreturn]] void fail_in_sequence(const Window& window, char character) const;
  void finish_sequence(std::vector<Piece>& pieces);

  // fastq.cpp
  void parse_simple_fastq(Window& window, std::vector<Piece>& pieces);
  bool parse_fastq(Window& window, std::vector<Piece>& pieces);
  std::optional<FastqLines> find_fastq_lines(const Window& window) const;
  bool find_base_lines(const Window& window, FastqLines& lines) const;
  bool find_quality_lines(const Window& window, FastqLines& lines) const;
  void drop_cut_fastq(Window& window);
  void add_fastq(Window& window, const FastqLines& lines, std::vector<Piece>& pieces);
  [[noreturn]] void fail_in_fastq(const Window& window, const Line& header, std::size_t line_offset,
                                  std::string_view what) const;
  [[noreturn]] void fail_quality_length(const Window& window, const FastqLines& lines) const;
  [[noreturn]] void fail_bad_quality(const Window& window, const FastqLines& lines) const;

  std::string file_;
  std::size_t most_pieces_;
  std::uint32_t overlap_bases_ = 0;
  bool drops_cut_record_ = false;
  bool has_mark_ = false;    ///< the text began with a byte order mark
  char lowest_quality_ = 0;  ///< mask bases below this character; 0: do not
  std::uint64_t records_ = 0;
  std::uint64_t lines_ = 0;  ///< line ends before `pos` of the window
  std::optional<OpenSequence> sequence_;
};

}  // namespace warpmer::io
