/// The FASTQ half of the record parser. Records of four lines take the short way; whatever it does not
/// know, the general way judges.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/warning.h"
#include "file/input_error.h"
#include "io/fastx/record_name.h"
#include "io/fastx/record_parser.h"
#include "io/text/blanks.h"
#include "io/text/quality.h"

namespace warpmer::io {
namespace {

const char* find_line_end(const char* text, const char* end) {
  return static_cast<const char*>(std::memchr(text, '\n', static_cast<std::size_t>(end - text)));
}

/// Returns the quality line of a record whose '+' line is at `plus`; null if that line is not there. That
/// line may say anything: programs that rename or join reads often leave in it what the header was.
const char* find_quality(const char* plus, const char* end) {
  if (end - plus < 2 || *plus != '+') return nullptr;
  if (plus[1] == '\n') return plus + 2;
  const char* const plus_end = find_line_end(plus + 1, end);
  return plus_end == nullptr ? nullptr : plus_end + 1;
}

bool starts_no_sequence(char character) { return character == '@' || character == '>' || character == '+'; }

}  // namespace

/// Parses records of exactly four lines with plain line ends, until one that is not, or is not all
/// there. Exact, not a guess: the line after the first sequence line starts with '+', so there is no
/// second one; and a quality line of the right length holds no line end before it. Blanks at the end of a
/// line are not plain.
void RecordParser::parse_simple_fastq(Window& window, std::vector<Piece>& pieces) {
  char* const text = window.text;
  const char* const end = text + window.size;
  const char* record = text + window.pos;
  const std::size_t pieces_before = pieces.size();
  while (record < end && *record == '@' && pieces.size() < most_pieces_) {
    const char* const name_end = find_name_end(record + 1, end);
    if (name_end >= end || name_end == record + 1) break;
    const char* const header_end = find_header_end(name_end, end);
    if (header_end + 1 >= end || *header_end != '\n') break;
    const char* const bases = header_end + 1;
    const char* const bases_end = find_line_end(bases, end);
    if (bases_end == nullptr || starts_no_sequence(*bases)) break;
    const char* const quality = find_quality(bases_end + 1, end);
    const auto length = static_cast<std::size_t>(bases_end - bases);
    if (quality == nullptr || static_cast<std::size_t>(end - quality) <= length) break;
    if (length > 0 && is_blank(bases[length - 1])) break;
    if (quality[length] != '\n' || !are_qualities(quality, length)) break;

    Piece& piece = pieces.emplace_back();
    piece.record = ++records_;
    piece.offset = static_cast<std::uint32_t>(bases - text);
    piece.length = static_cast<std::uint32_t>(length);
    piece.name_offset = static_cast<std::uint32_t>(record + 1 - text);
    piece.name_length = static_cast<std::uint32_t>(name_end - record - 1);
    piece.companion_offset = static_cast<std::uint32_t>(quality - text);
    if (lowest_quality_ != 0) mask_bases(text + piece.offset, quality, length, lowest_quality_);
    record = quality + length + 1;
  }
  lines_ += 4 * (pieces.size() - pieces_before);
  window.pos = static_cast<std::size_t>(record - text);
}

/// Parses one record of any number of lines; false if it is not all in the window.
bool RecordParser::parse_fastq(Window& window, std::vector<Piece>& pieces) {
  const std::optional<FastqLines> lines = find_fastq_lines(window);
  if (!lines) return false;
  if (lines->is_cut) {
    drop_cut_fastq(window);
  } else {
    add_fastq(window, *lines, pieces);
  }
  return true;
}

std::optional<RecordParser::FastqLines> RecordParser::find_fastq_lines(const Window& window) const {
  const std::optional<Line> header = header_at(window, window.pos);
  if (!header) return std::nullopt;
  FastqLines lines;
  lines.header = *header;
  if (!find_base_lines(window, lines)) return std::nullopt;
  if (!lines.is_cut && !find_quality_lines(window, lines)) return std::nullopt;
  return lines;
}

/// Finds the sequence lines and the '+' line; false if more text is needed.
bool RecordParser::find_base_lines(const Window& window, FastqLines& lines) const {
  std::size_t pos = lines.header.next;
  while (pos < window.size && window.text[pos] != '+') {
    const char first = window.text[pos];
    if (first == '@' || first == '>') {
      fail_in_fastq(
          window, lines.header, lines.base_lines + 1,
          fmt::format("a line that starts with '{}' where the sequence should {}: the record has no "
                      "'+' line; the file is damaged, or a record in it was cut short",
                      first, lines.base_lines == 0 ? "be" : "go on or end"));
    }
    const std::optional<Line> line = trimmed_line_at(window, pos);
    if (!line) return false;
    if (lines.base_lines++ == 0) lines.first_bases = *line;
    lines.bases += line->size();
    pos = line->next;
  }
  if (pos == window.size) {
    if (!window.is_at_end) return false;
    lines.is_cut = drops_cut_record_;
    if (lines.is_cut) return true;
    fail_in_fastq(
        window, lines.header, lines.base_lines,
        fmt::format("the file is truncated: it ends {} of a FASTQ record; copy or download it again",
                    lines.base_lines == 0 ? "in or after the header" : "in the sequence"));
  }
  const std::optional<Line> plus = line_at(window, pos);
  if (!plus) return false;
  lines.plus = *plus;
  return true;
}

/// Finds the quality lines: those that, together, are as long as the sequence. False if more text is
/// needed.
bool RecordParser::find_quality_lines(const Window& window, FastqLines& lines) const {
  std::size_t pos = lines.plus.next;
  while (lines.quality < lines.bases) {
    const std::optional<Line> line = trimmed_line_at(window, pos);
    if (!line && !window.is_at_end) return false;
    lines.is_cut = !line && drops_cut_record_;
    if (lines.is_cut) return true;
    if (!line) {
      fail_in_fastq(
          window, lines.header, lines.base_lines + 1 + lines.quality_lines,
          fmt::format("the file is truncated: it ends after {} of the {} quality characters of a FASTQ "
                      "record; copy or download it again",
                      lines.quality, lines.bases));
    }
    if (lines.quality_lines++ == 0) lines.first_quality = *line;
    lines.quality += line->size();
    pos = line->next;
  }
  if (lines.quality > lines.bases) fail_quality_length(window, lines);
  lines.next = pos;
  return true;
}

void RecordParser::fail_quality_length(const Window& window, const FastqLines& lines) const {
  // With more lines than should be, the next record was taken for quality: tell of the first only.
  const bool is_of_first = lines.base_lines == 1;
  const std::size_t quality = is_of_first ? lines.first_quality.size() : lines.quality;
  const char* const behind = window.text + lines.first_quality.begin + lines.bases;
  const std::string_view repeated(window.text + lines.plus.begin + 1, lines.plus.size() - 1);
  const std::string_view header(window.text + lines.header.begin + 1, lines.header.size() - 1);
  std::string why = "; the file is damaged, so get it again from where it was made";
  if (is_of_first && quality > lines.bases && (*behind == '@' || *behind == '>')) {
    why = fmt::format(
        ", behind which there is a '{}': two files were joined without a line end between them "
        "(`awk 1 FILE1 FILE2` joins them with one), or the file is damaged",
        *behind);
  } else if (!header.starts_with(repeated)) {
    why = fmt::format(
        ", and the '+' line repeats another header, {}; lines are missing or mixed up, so get "
        "the file again from where it was made",
        file::quoted(repeated));
  }
  fail_in_fastq(
      window, lines.header, lines.base_lines + 2,
      fmt::format("the quality has {} characters, but the sequence {}{}", quality, lines.bases, why));
}

/// Passes over a record in which the text ends. It counts as one that was read.
void RecordParser::drop_cut_fastq(Window& window) {
  ++records_;
  warn(
      fmt::format("{}, record {}: the file ends in this FASTQ record, which is left out; should it be whole, "
                  "copy or download the file again",
                  file_, records_));
  window.pos = window.size;
}

/// Takes over a record that is all there: closes up its lines, checks and applies its quality.
void RecordParser::add_fastq(Window& window, const FastqLines& lines, std::vector<Piece>& pieces) {
  char* const text = window.text;
  // Gives the end of `count` lines from `first` on, closed up to where the first one begins.
  const auto close_up = [&](const Line& first, std::size_t count) {
    std::size_t end = first.end;
    std::size_t pos = first.next;
    for (std::size_t i = 1; i < count; ++i) {
      const Line line = *trimmed_line_at(window, pos);
      std::memmove(text + end, text + line.begin, line.size());
      end += line.size();
      pos = line.next;
    }
  };
  close_up(lines.first_bases, lines.base_lines);
  close_up(lines.first_quality, lines.quality_lines);
  const char* const quality = text + lines.first_quality.begin;
  if (!are_qualities(quality, lines.bases)) fail_bad_quality(window, lines);

  const char* const name = text + find_name(window, lines.header);
  const char* const name_end = std::min(find_name_end(name, text + lines.header.end),
                                        static_cast<const char*>(text + lines.header.end));
  Piece& piece = pieces.emplace_back();
  piece.record = ++records_;
  piece.offset =
      static_cast<std::uint32_t>(lines.base_lines == 0 ? lines.plus.begin : lines.first_bases.begin);
  piece.length = static_cast<std::uint32_t>(lines.bases);
  piece.name_offset = static_cast<std::uint32_t>(name - text);
  piece.name_length = static_cast<std::uint32_t>(name_end - name);
  piece.companion_offset =
      static_cast<std::uint32_t>(lines.quality_lines == 0 ? lines.plus.begin : lines.first_quality.begin);
  if (lowest_quality_ != 0) mask_bases(text + piece.offset, quality, lines.bases, lowest_quality_);
  lines_ += 2 + lines.base_lines + lines.quality_lines;
  window.pos = lines.quality_lines == 0 ? lines.plus.next : lines.next;
}

void RecordParser::fail_bad_quality(const Window& window, const FastqLines& lines) const {
  const char* const quality = window.text + lines.first_quality.begin;
  const std::size_t bad = first_bad_quality(quality, lines.bases);
  fail_in_fastq(
      window, lines.header, lines.base_lines + 2,
      fmt::format("position {} of the quality is {}, but quality characters go from '!' to '~'; the file "
                  "is damaged, so get it again from where it was made",
                  bad + 1, file::quoted(quality[bad])));
}

/// Throws an error about the record whose header is given, `line_offset` lines below it.
void RecordParser::fail_in_fastq(const Window& window, const Line& header, std::size_t line_offset,
                                 std::string_view what) const {
  const std::size_t name = find_name(window, header);
  const std::string_view title(window.text + name, header.end - name);
  file::fail_at({file_, records_ + 1, title.substr(0, title.find_first_of(" \t")), lines_ + 1 + line_offset},
                what);
}

}  // namespace warpmer::io
