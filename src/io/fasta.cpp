/// The FASTA half of the record parser.

#include <cstring>

#include "io/input_error.h"
#include "io/record_name.h"
#include "io/record_parser.h"
#include "io/shell_word.h"

namespace warpmer::io {

/// Takes the header line; false if its end is not in the window yet.
bool RecordParser::start_fasta(Window& window) {
  const std::optional<Line> header = line_at(window, window.pos);
  if (!header) return false;
  check_header(window, *header);
  const char* const name = window.text + header->begin + 1;
  const char* const name_end = std::min(find_name_end(name, window.text + header->end),
                                        static_cast<const char*>(window.text + header->end));
  sequence_.emplace();
  sequence_->name_offset = static_cast<std::uint32_t>(header->begin + 1);
  sequence_->name_length = static_cast<std::uint32_t>(name_end - name);
  sequence_->header_length = static_cast<std::uint32_t>(header->next - (header->begin + 1));
  sequence_->begin = sequence_->end = header->next;
  window.pos = header->next;
  ++records_;
  ++lines_;
  return true;
}

/// A file with the line ends of an old Macintosh would be one long header, and all its bases lost.
void RecordParser::check_header(const Window& window, const Line& header) const {
  const void* const lone_return = std::memchr(window.text + header.begin, '\r', header.size());
  if (lone_return == nullptr) return;
  fail_at({file_, records_ + 1, {}, lines_ + 1},
          "the header has a carriage return without a line feed in it; convert the line ends: "
          "`tr '\\r' '\\n' < " +
              shell_input(file_) + " | warpmer count -o out.wmi -`");
}

/// Goes on with the sequence; false if it may go on behind the window.
bool RecordParser::continue_fasta(Window& window, std::vector<Piece>& pieces) {
  const bool is_complete = gather_sequence(window);
  if (is_complete) {
    finish_sequence(pieces);
    return true;
  }
  const std::size_t rest = window.size - window.pos;
  std::memmove(window.text + sequence_->end, window.text + window.pos, rest);
  window.pos = sequence_->end;
  window.size = window.pos + rest;
  return false;
}

/// Appends the sequence lines in the window to the bases before them. True at the next header, or at
/// the end of the text.
bool RecordParser::gather_sequence(Window& window) {
  char* const text = window.text;
  std::size_t pos = window.pos;
  std::size_t end = sequence_->end;
  bool is_in_line = sequence_->is_in_line;
  bool is_complete = false;
  while (pos < window.size) {
    if (!is_in_line && (text[pos] == '>' || text[pos] == '@')) {
      is_complete = true;
      break;
    }
    const auto* const found = static_cast<const char*>(std::memchr(text + pos, '\n', window.size - pos));
    std::size_t line_end = found == nullptr ? window.size : static_cast<std::size_t>(found - text);
    const std::size_t next = found == nullptr ? window.size : line_end + 1;
    const bool has_return = line_end > pos && text[line_end - 1] == '\r';
    if (has_return) --line_end;
    if (end != pos) std::memmove(text + end, text + pos, line_end - pos);
    end += line_end - pos;
    if (found == nullptr) {
      // A carriage return at the window's end waits for what follows: it may belong to a line end.
      is_in_line |= line_end > pos;
      pos = has_return && !window.is_at_end ? line_end : window.size;
      break;
    }
    is_in_line = false;
    ++lines_;
    pos = next;
  }
  sequence_->end = end;
  sequence_->is_in_line = is_in_line;
  window.pos = pos;
  return is_complete || (window.is_at_end && pos == window.size);
}

void RecordParser::finish_sequence(std::vector<Piece>& pieces) {
  hand_over_part(pieces);
  pieces.back().last = true;
  sequence_.reset();
}

void RecordParser::hand_over_part(std::vector<Piece>& pieces) {
  OpenSequence& sequence = *sequence_;
  Piece piece;
  piece.record = records_;
  piece.first_base = sequence.first_base;
  piece.offset = static_cast<std::uint32_t>(sequence.begin);
  piece.length = static_cast<std::uint32_t>(sequence.end - sequence.begin);
  piece.name_offset = sequence.name_offset;
  piece.name_length = sequence.name_length;
  piece.last = false;
  pieces.push_back(piece);
  const std::size_t kept = std::min<std::size_t>(overlap_bases_, piece.length);
  sequence.begin = sequence.end - kept;
  sequence.first_base += piece.length - kept;
}

}  // namespace warpmer::io
