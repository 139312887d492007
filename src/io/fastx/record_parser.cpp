#include "io/fastx/record_parser.h"

#include <fmt/format.h>

#include <cstring>

#include "file/input_error.h"
#include "file/suggestion.h"
#include "io/compress/content.h"
#include "io/text/blanks.h"
#include "io/text/quality.h"

namespace warpmer::io {
RecordParser::RecordParser(std::string file, const InputOptions& options, std::size_t most_pieces)
    : file_(std::move(file)),
      most_pieces_(most_pieces),
      overlap_bases_(options.overlap_bases),
      drops_cut_record_(options.reading.drops_cut_record),
      lowest_quality_(lowest_unmasked(options.reading.min_base_quality)) {}

void RecordParser::parse(Window& window, std::vector<Piece>& pieces) {
  while (pieces.size() < most_pieces_) {
    if (sequence_) {
      if (!continue_fasta(window, pieces)) return;
      continue;
    }
    parse_simple_fastq(window, pieces);
    if (!skip_blank_lines(window)) return;
    switch (window.text[window.pos]) {
      case '@':
        if (records_ == 0) refuse_sam(window);
        if (!parse_fastq(window, pieces)) return;
        break;
      case '>':
        if (!start_fasta(window)) return;
        break;
      default:
        if (!shows_line(window)) return;
        if (skip_byte_order_mark(window)) break;
        fail_unexpected_line(window);
    }
  }
}

/// True when there is a line that is not blank to go on with.
bool RecordParser::skip_blank_lines(Window& window) {
  std::size_t at = window.pos;
  for (; at < window.size && is_blank(window.text[at]); ++at) {
    if (window.text[at] != '\n') continue;
    ++lines_;
    window.pos = at + 1;
  }
  if (at < window.size) return true;
  if (window.is_at_end) window.pos = window.size;  // the last line has no end
  return false;
}

/// Skips the mark that some editors put in front of a text; false if there is none.
bool RecordParser::skip_byte_order_mark(Window& window) {
  const std::string_view rest(window.text + window.pos, window.size - window.pos);
  const bool is_there = records_ == 0 && lines_ == 0 && rest.starts_with(kByteOrderMark);
  if (is_there) window.pos += kByteOrderMark.size();
  has_mark_ = has_mark_ || is_there;
  return is_there;
}

/// Refuses SAM that comes here as text: it was compressed, or is behind a mark.
void RecordParser::refuse_sam(const Window& window) const {
  if (!is_sam({window.text + window.pos, window.size - window.pos})) return;
  file::fail_at({file_}, has_mark_ ? "this is SAM behind a byte order mark; cut that off: " +
                                         file::piped_in("tail -c +4 {}", file_)
                                   : "this is SAM, compressed as text; decompress it: " +
                                         file::piped_in("gzip -dc {}", file_));
}

/// True when so much of the line at `pos` is in the window as a message quotes, wherever the window ends.
bool RecordParser::shows_line(const Window& window) {
  const std::string_view rest(window.text + window.pos, window.size - window.pos);
  return window.is_at_end || rest.size() > file::kQuotedCharacters ||
         rest.find('\n') != std::string_view::npos;
}

void RecordParser::fail_unexpected_line(const Window& window) const {
  const std::string_view rest(window.text + window.pos, window.size - window.pos);
  if (records_ == 0) {
    file::fail_at({file_, 0, {}, lines_ + 1}, fmt::format("this is neither FASTA nor FASTQ, compressed or "
                                                          "not, nor SAM with its header, BAM or CRAM, but {}",
                                                          describe_start(rest)));
  }
  const std::string_view line = rest.substr(0, rest.find_first_of("\r\n"));
  file::fail_at(
      {file_, 0, {}, lines_ + 1},
      fmt::format("a record should start here, after record {}, with '@' or '>', but the line is {}; the "
                  "sequence or quality before it may have more lines than it should, or the file is damaged",
                  records_, file::quoted(line)));
}

/// Returns the line at `pos`; nothing if more text is needed to see its end.
std::optional<RecordParser::Line> RecordParser::line_at(const Window& window, std::size_t pos) {
  if (pos >= window.size) return std::nullopt;
  const void* const found = std::memchr(window.text + pos, '\n', window.size - pos);
  if (found == nullptr && !window.is_at_end) return std::nullopt;
  Line line;
  line.begin = pos;
  line.end = found == nullptr ? window.size
                              : static_cast<std::size_t>(static_cast<const char*>(found) - window.text);
  line.next = found == nullptr ? window.size : line.end + 1;
  if (line.end > line.begin && window.text[line.end - 1] == '\r') --line.end;
  return line;
}

/// Returns the same without what is blank at its end: a line of bases or qualities, of which none is blank.
std::optional<RecordParser::Line> RecordParser::trimmed_line_at(const Window& window, std::size_t pos) {
  std::optional<Line> line = line_at(window, pos);
  if (line) line->end = trimmed_end(window.text, line->begin, line->end);
  return line;
}

/// Returns the header line at `pos`. A file with the line ends of an old Macintosh would be one long header,
/// and all its bases lost.
std::optional<RecordParser::Line> RecordParser::header_at(const Window& window, std::size_t pos) const {
  const std::optional<Line> header = line_at(window, pos);
  // When the text goes on, its last character may belong to a line end that is not all there.
  std::size_t end = header ? header->end : window.size - 1;
  while (end > pos && window.text[end - 1] == '\r') --end;
  if (std::memchr(window.text + pos, '\r', end - pos) == nullptr) return header;
  file::fail_at({file_, records_ + 1, {}, lines_ + 1},
                "the header has a carriage return without a line feed in it; convert the line ends: " +
                    file::piped_in("tr '\\r' '\\n' < {}", file_));
}

/// Returns the place where the name in a header begins: at the next word, if a blank comes first.
std::size_t RecordParser::find_name(const Window& window, const Line& header) {
  std::size_t name = header.begin + 1;
  while (name < header.end && is_blank(window.text[name])) ++name;
  return name;
}

}  // namespace warpmer::io
