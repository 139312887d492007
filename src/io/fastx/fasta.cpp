/// The FASTA half of the record parser.

#include <fmt/format.h>

#include <cstring>

#include "file/input_error.h"
#include "io/fastx/record_name.h"
#include "io/fastx/record_parser.h"
#include "io/text/blanks.h"

namespace warpmer::io {

/// Takes the header line; false if its end is not in the window yet.
bool RecordParser::start_fasta(Window& window) {
  const std::optional<Line> header = header_at(window, window.pos);
  if (!header) return false;
  const std::size_t name_begin = find_name(window, *header);
  const char* const name = window.text + name_begin;
  const char* const name_end = std::min(find_name_end(name, window.text + header->end),
                                        static_cast<const char*>(window.text + header->end));
  sequence_.emplace();
  sequence_->name_offset = static_cast<std::uint32_t>(name_begin);
  sequence_->name_length = static_cast<std::uint32_t>(name_end - name);
  sequence_->header_length = static_cast<std::uint32_t>(header->next - name_begin);
  sequence_->begin = sequence_->end = header->next;
  window.pos = header->next;
  ++records_;
  ++lines_;
  return true;
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
  OpenSequence& sequence = *sequence_;
  bool is_complete = false;
  while (window.pos < window.size) {
    const std::size_t pos = window.pos;
    is_complete = !sequence.is_in_line && (text[pos] == '>' || text[pos] == '@');
    if (is_complete) break;
    const auto* const found = static_cast<const char*>(std::memchr(text + pos, '\n', window.size - pos));
    std::size_t line_end = found == nullptr ? window.size : static_cast<std::size_t>(found - text);
    window.pos = found == nullptr ? window.size : line_end + 1;
    if (line_end > pos && text[line_end - 1] == '\r') --line_end;
    if (are_from_letters_on(text + pos, line_end - pos)) {
      if (sequence.end != pos) std::memmove(text + sequence.end, text + pos, line_end - pos);
      sequence.end += line_end - pos;
      sequence.has_bases_in_line |= line_end > pos;
    } else if (!copy_bases(window, pos, line_end, found != nullptr || window.is_at_end)) {
      break;
    }
    sequence.is_in_line = found == nullptr;
    sequence.has_bases_in_line &= sequence.is_in_line;
    if (found != nullptr) ++lines_;
  }
  return is_complete || (window.is_at_end && window.pos == window.size);
}

/// Appends what is no white space of a line, or of a part of it, nor the number that it begins with, as lines
/// of GenBank do. False if more of the line is needed to see that number: then the window goes on with it.
bool RecordParser::copy_bases(Window& window, std::size_t begin, std::size_t end, bool is_whole_line) {
  constexpr std::size_t kMostDigits = 20;
  const char* const text = window.text;
  OpenSequence& sequence = *sequence_;
  std::size_t at = begin;
  if (!sequence.has_bases_in_line) {
    while (at < end && is_blank(text[at])) ++at;
    std::size_t number_end = at;
    while (number_end < end && text[number_end] >= '0' && text[number_end] <= '9') ++number_end;
    if (number_end == end && number_end > at && number_end - at < kMostDigits && !is_whole_line) {
      sequence.is_in_line |= at > begin;
      window.pos = at;
      return false;
    }
    if (number_end < end && is_blank(text[number_end])) at = number_end;
  }
  for (; at < end; ++at) {
    const char base = text[at];
    if (is_blank(base)) continue;
    if (base == '>' || base == '@') fail_in_sequence(window, base);
    window.text[sequence.end++] = base;
    sequence.has_bases_in_line = true;
  }
  return true;
}

/// Says that a character that begins a record does not begin a line.
void RecordParser::fail_in_sequence(const Window& window, char character) const {
  const std::string_view name(window.text + sequence_->name_offset, sequence_->name_length);
  file::fail_at(
      {file_, records_, name, lines_ + 1},
      sequence_->has_bases_in_line
          ? fmt::format("a '{}' in the middle of a sequence line: two files were joined without a line "
                        "end between them; `awk 1 FILE1 FILE2` joins them with one",
                        character)
          : fmt::format("a '{}' behind blanks: a header begins its line; take the blanks away", character));
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
