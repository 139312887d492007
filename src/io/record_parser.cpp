#include "io/record_parser.h"

#include <fmt/format.h>

#include <cstring>

#include "io/content.h"
#include "io/input_error.h"
#include "io/quality.h"

namespace warpmer::io {
RecordParser::RecordParser(std::string file, const InputOptions& options, std::size_t most_pieces)
    : file_(std::move(file)),
      most_pieces_(most_pieces),
      overlap_bases_(options.overlap_bases),
      lowest_quality_(lowest_unmasked(options.min_base_quality)) {}

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
        if (!parse_fastq(window, pieces)) return;
        break;
      case '>':
        if (!start_fasta(window)) return;
        break;
      default:
        if (!shows_line(window)) return;
        fail_unexpected_line(window);
    }
  }
}

/// Whether there is a line that is not blank to go on with.
bool RecordParser::skip_blank_lines(Window& window) {
  for (; window.pos < window.size; ++window.pos) {
    const char character = window.text[window.pos];
    if (character == '\n') {
      ++lines_;
    } else if (character == '\r') {
      // A carriage return on its own is no blank line, but one at the window's end may get its line feed.
      const bool is_last = window.pos + 1 == window.size;
      if (is_last && !window.is_at_end) return false;
      if (!is_last && window.text[window.pos + 1] != '\n') return true;
    } else {
      return true;
    }
  }
  return false;
}

/// Whether so much of the line at `pos` is in the window as a message quotes, wherever the window ends.
bool RecordParser::shows_line(const Window& window) {
  const std::string_view rest(window.text + window.pos, window.size - window.pos);
  return window.is_at_end || rest.size() > kQuotedCharacters || rest.find('\n') != std::string_view::npos;
}

void RecordParser::fail_unexpected_line(const Window& window) const {
  const std::string_view rest(window.text + window.pos, window.size - window.pos);
  if (records_ == 0) {
    fail_at({file_, 0, {}, lines_ + 1},
            fmt::format("this is neither FASTA nor FASTQ, gzip, BAM nor CRAM, but {}", describe_start(rest)));
  }
  const std::string_view line = rest.substr(0, rest.find_first_of("\r\n"));
  fail_at(
      {file_, 0, {}, lines_ + 1},
      fmt::format("a record should start here, after record {}, with '@' or '>', but the line is {}; the "
                  "sequence or quality before it may have more lines than it should, or the file is damaged",
                  records_, quoted(line)));
}

/// The line at `pos`; nothing if more text is needed to see its end.
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

}  // namespace warpmer::io
