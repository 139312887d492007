#include "io/hts/sam_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/number_text.h"
#include "file/input_error.h"
#include "io/text/quality.h"
#include "kmer/alphabet.h"

namespace warpmer::io {
namespace {

constexpr std::size_t kReadStep = std::size_t{256} << 10;
constexpr std::size_t kLongText = 8 * kReadStep;

/// The columns that a read is in.
constexpr std::size_t kNameColumn = 0, kFlagColumn = 1, kBasesColumn = 9, kQualityColumn = 10;

/// True for characters that may stand for a base: letters that are nucleotide codes, "=" for the reference's,
/// "." for any.
bool is_base(char c) { return c == '=' || (char_class(c) != CharClass::invalid && c != '-' && c != '*'); }

/// Looks at all of them, which many bytes at a time is faster than to stop at the first that is none.
bool are_usual_bases(std::span<const char> text) {
  unsigned others = 0;
  for (const char c : text) {
    const auto upper = static_cast<unsigned char>(static_cast<unsigned char>(c) & ~0x20U);
    const bool is_usual = (upper == 'A') | (upper == 'C') | (upper == 'G') | (upper == 'T') | (upper == 'N');
    others |= is_usual ? 0 : 1;
  }
  return others == 0;
}

bool is_absent(std::span<const char> column) { return column.size() == 1 && column[0] == '*'; }

}  // namespace

SamSource::SamSource(std::unique_ptr<file::ByteFile> file, const InputOptions& options)
    : AlignmentSource(*file, "SAM", options), is_lenient_(options.reading.lenient), file_(std::move(file)) {}

/// Appends the lines of the header to `text`, unless that is null.
void SamSource::read_header(std::string* text) {
  while (find_line() && text_.data()[begin_] == '@') {
    const std::span<char> line = take_line();
    if (text != nullptr) text->append(line.data(), line.size()).append(1, '\n');
  }
  is_at_records_ = true;
}

std::string SamSource::bam_header(const ProgramLine& program) {
  std::string text;
  read_header(&text);
  header_.reset(sam_hdr_parse(text.size(), text.c_str()));
  std::optional<std::string> bytes = header_ ? encode_bam_header(*header_, program) : std::nullopt;
  if (!bytes) fail(kDamagedHeader);
  return *std::move(bytes);
}

bool SamSource::read(bam1_t& record) {
  if (!is_at_records_) read_header(nullptr);
  if (!find_line()) return false;
  const std::span<char> line = take_line();
  if (header_) {
    parse_whole(line, record);
  } else {
    parse_read(line, record);
  }
  return true;
}

void SamSource::parse_whole(std::span<char> line, bam1_t& record) {
  take_bases(split(line)[kBasesColumn]);
  line.data()[line.size()] = '\0';  // in place of its end, or in the padding
  kstring_t text{line.size(), line.size() + 1, line.data()};
  if (sam_parse1(&text, header_.get(), &record) < 0) fail(kUndecodable);
}

void SamSource::parse_read(std::span<char> line, bam1_t& record) {
  const Columns columns = split(line);
  const std::span<char> name = columns[kNameColumn], quality = columns[kQualityColumn];
  const std::span<char> bases = take_bases(columns[kBasesColumn]);
  const bool has_quality = !is_absent(quality);
  if (has_quality) take_quality(quality, bases.size());
  // As if it was not aligned, because the CIGAR of others has to be there.
  if (bam_set1(&record, name.size(), name.data(), BAM_FUNMAP, -1, -1, 0, 0, nullptr, -1, -1, 0, bases.size(),
               bases.data(), has_quality ? quality.data() : nullptr, 0) < 0) {
    fail(kUndecodable);
  }
  record.core.flag = flag_in(columns[kFlagColumn]);
}

SamSource::Columns SamSource::split(std::span<char> line) const {
  Columns columns;
  for (std::size_t i = 0; i < kColumns; ++i) {
    const void* const tab = line.empty() ? nullptr : std::memchr(line.data(), '\t', line.size());
    const std::size_t bytes =
        tab == nullptr ? line.size() : static_cast<std::size_t>(static_cast<const char*>(tab) - line.data());
    columns[i] = line.first(bytes);
    if (tab == nullptr && i + 1 < kColumns) {
      fail(
          fmt::format("a line of {} columns, of which a record has {} at least: the file is damaged or "
                      "truncated; copy or download it again",
                      i + 1, kColumns));
    }
    line = line.subspan(std::min(bytes + 1, line.size()));
  }
  return columns;
}

/// Returns the bases that a column has, as htslib knows them: it would make N of a U, which is a T, and of
/// anything that is no base.
std::span<char> SamSource::take_bases(std::span<char> column) const {
  if (is_absent(column)) return {};
  if (are_usual_bases(column)) return column;
  for (char& base : column) {
    if (!is_base(base)) {
      if (!is_lenient_)
        fail(fmt::format("{} is no base; pass --lenient to treat such characters as N", file::quoted(base)));
      base = 'N';
    }
    if (base == 'U' || base == 'u') base = static_cast<char>(base - 1);
  }
  return column;
}

std::uint16_t SamSource::flag_in(std::span<const char> column) const {
  const std::string_view text(column.data(), column.size());
  const auto flag = whole_number<std::uint16_t>(text);
  if (!flag) fail(fmt::format("the second column, {}, is no flag", file::quoted(text)));
  return *flag;
}

/// Makes Phred scores of the characters, which must be those of so many bases.
void SamSource::take_quality(std::span<char> quality, std::size_t bases) const {
  if (quality.size() != bases) {
    fail(
        fmt::format("{} bases, but {} quality values: the file is damaged or truncated; copy or download it "
                    "again",
                    bases, quality.size()));
  }
  const std::size_t bad = first_bad_quality(quality.data(), quality.size());
  if (bad < quality.size()) fail(fmt::format("{} is no quality", file::quoted(quality[bad])));
  for (char& value : quality) value = static_cast<char>(value - kLowestQuality);
}

/// Sees to it that a whole line is there; false at the end of the file.
bool SamSource::find_line() {
  std::size_t searched = 0;
  while (true) {
    const char* const line = text_.data() + begin_;
    const std::size_t there = text_.size() - begin_;
    const void* const end = there > searched ? std::memchr(line + searched, '\n', there - searched) : nullptr;
    if (end != nullptr) {
      line_bytes_ = static_cast<std::size_t>(static_cast<const char*>(end) - line);
      return true;
    }
    searched = there;
    if (is_at_end_) {
      line_bytes_ = there;
      return there > 0;
    }
    is_at_end_ = !read_more();
  }
}

/// Reads on behind the text, of which only what is not parsed yet is kept; false at the end of the file.
bool SamSource::read_more() {
  const std::size_t kept = text_.size() - begin_;
  if (kept > longest_record()) refuse_long();
  if (text_.capacity() > kLongText && kept < kReadStep) {  // it grew for a long line
    PaddedText usual;
    usual.reserve(2 * kReadStep);
    usual.append({text_.data() + begin_, kept});
    std::swap(text_, usual);
  } else if (begin_ > 0) {
    std::memmove(text_.data(), text_.data() + begin_, kept);
  }
  begin_ = 0;
  text_.set_size(kept);
  if (text_.capacity() - kept < kReadStep)
    text_.reserve(std::max(2 * kReadStep, kept + kept / 2 + kReadStep));
  const std::size_t count = file_->read(text_.data() + kept, kReadStep);
  text_.set_size(kept + count);
  return count > 0;
}

/// Returns the line that was found, without its end, and room for a character behind it.
std::span<char> SamSource::take_line() {
  char* const line = text_.data() + begin_;
  std::size_t bytes = std::exchange(line_bytes_, 0);
  begin_ = std::min(begin_ + bytes + 1, text_.size());
  if (bytes > 0 && line[bytes - 1] == '\r') --bytes;
  return {line, bytes};
}

}  // namespace warpmer::io
