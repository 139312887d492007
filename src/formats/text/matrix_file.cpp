#include "formats/text/matrix_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/number_text.h"
#include "file/input_error.h"
#include "kmer/kmer.h"

namespace warpmer::formats {
namespace {

constexpr std::string_view kMagic = "#warpmer-matrix";
constexpr std::string_view kNone =
    "this is no matrix written by warpmer, which begins with '#warpmer-matrix'";
constexpr io::LineLimit kLongestFirstLine{4096, kNone};
constexpr std::size_t kMostDigits = 20;

std::string_view strand_name(bool canonical) { return canonical ? "canonical" : "forward"; }
std::string_view values_text(bool presence) { return presence ? "presence" : "counts"; }

/// Takes the part of `line` up to the next `separator`, which is taken off as well.
std::string_view next_field(std::string_view& line, char separator) {
  const std::size_t end = std::min(line.find(separator), line.size());
  const std::string_view field = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return field;
}

template <class Number>
bool parse(std::string_view text, Number& number) {
  const auto parsed = whole_number<Number>(text);
  number = parsed.value_or(number);
  return parsed.has_value();
}

/// Takes in `name=value`; false when it means nothing.
bool set_field(MatrixFormat& format, std::string_view name, std::string_view value) {
  if (name == "k") return parse(value, format.k) && format.k >= 1 && format.k <= kMaxK;
  if (name == "min-samples") return parse(value, format.min_samples) && format.min_samples >= 1;
  if (name == "hash-version") return parse(value, format.hash_version);
  if (name == "strand") {
    format.canonical = value == strand_name(true);
    return format.canonical || value == strand_name(false);
  }
  if (name == "values") {
    format.presence = value == values_text(true);
    return format.presence || value == values_text(false);
  }
  return false;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Goes past the number that `at` points to; null for none, one with leading zeros, or one beyond 64 bits.
const char* end_of_number(const char* at, const char* end) {
  const char* digit = at;
  while (digit < end && is_digit(*digit)) ++digit;
  const auto digits = static_cast<std::size_t>(digit - at);
  if (digits == 0 || (digits > 1 && *at == '0')) return nullptr;
  if (digits >= kMostDigits && !whole_number({at, digits})) return nullptr;
  return digit;
}

}  // namespace

std::string matrix_header(const MatrixFormat& format, const std::vector<std::string>& samples) {
  std::string text = fmt::format("{} k={} strand={} values={} min-samples={} hash-version={}\nkmer", kMagic,
                                 format.k, strand_name(format.canonical), values_text(format.presence),
                                 format.min_samples, format.hash_version);
  for (const std::string& sample : samples) text.append(1, '\t').append(sample);
  return text.append(1, '\n');
}

MatrixFile::MatrixFile(const std::string& path, unsigned threads, std::uint64_t most_name_bytes)
    : lines_(path, threads, kLongestFirstLine) {
  std::string_view line;
  if (!lines_.next_line(line) || lines_.is_cut_off()) fail(1, kNone);
  read_format(line);
  lines_.set_limit({most_name_bytes,
                    "the names of the samples take more memory than there is for them; raise -m",
                    /*is_lack_of_memory=*/true});
  if (!lines_.next_line(line) || lines_.is_cut_off()) fail(2, kNone);
  read_samples(line);
  lines_.set_limit({format_.k + samples_.size() * (kMostDigits + 1),
                    "this row is longer than the names of the columns allow"});
}

void MatrixFile::fail(std::uint64_t line, std::string_view what) const {
  file::fail_at({.file = shown(), .line = line}, what);
}

void MatrixFile::read_format(std::string_view line) {
  if (next_field(line, ' ') != kMagic) fail(1, kNone);
  int fields = 0;
  for (; !line.empty(); ++fields) {
    const std::string_view field = next_field(line, ' ');
    const std::size_t equals = std::min(field.find('='), field.size());
    if (!set_field(format_, field.substr(0, equals), field.substr(std::min(equals + 1, field.size())))) {
      fail(1, fmt::format("{} is not known; the matrix is damaged, or of another version of warpmer",
                          file::quoted(field)));
    }
  }
  if (fields != 5) fail(1, "it should say k, strand, values, min-samples and hash-version, each once");
}

void MatrixFile::read_samples(std::string_view line) {
  if (next_field(line, '\t') != "kmer") fail(2, "the names of the columns should begin with 'kmer'");
  const bool has_last = !line.ends_with('\t');
  while (!line.empty()) samples_.emplace_back(next_field(line, '\t'));
  if (!has_last || samples_.empty()) fail(2, "there should be a name for each sample, tabs between them");
  std::vector<std::string_view> sorted(samples_.begin(), samples_.end());
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    fail(2, fmt::format("two samples are called {}; give each a name of its own", file::quoted(*twice)));
}

bool MatrixFile::next(MatrixRows& rows) {
  const std::scoped_lock lock(mutex_);
  if (is_done_) return false;
  is_done_ = true;  // for other threads, should this one throw: what is left would not begin with a row
  const bool is_there = read_rows(rows);
  is_done_ = !is_there || rows.is_end;
  return is_there;
}

bool MatrixFile::read_rows(MatrixRows& rows) {
  try {
    rows.is_end = !lines_.next_text(rows, kRowBytes);
  } catch (const file::Cancelled&) {
    return false;
  }
  if (lines_.is_cut_off()) fail(lines_.line(), "the file ends in the middle of this row");
  rows.ordinal = next_ordinal_++;
  rows.row_before = row_before_;
  if (rows.is_end) return true;
  const std::size_t end = rows.text.size() - 1;
  const std::size_t row_end = end == 0 ? std::string::npos : rows.text.rfind('\n', end - 1);
  row_before_ = rows.text.substr(row_end == std::string::npos ? 0 : row_end + 1, format_.k);
  return true;
}

MatrixRow MatrixFile::read_row(std::string_view text, std::uint64_t line) const {
  MatrixRow row;
  if (text.size() <= format_.k)
    fail(line, fmt::format("a row should begin with a k-mer of {} bases", format_.k));
  row.kmer = text.substr(0, format_.k);
  const char* at = text.data() + format_.k;
  const char* const end = text.data() + text.size();
  for (std::size_t column = 0; column < samples_.size(); ++column) {
    if (*at != '\t') {
      if (column == 0)
        fail(line, fmt::format("a row should begin with a k-mer of {} bases and a tab", format_.k));
      fail(line, *at == '\n' ? fmt::format("this row has {} numbers for {} samples", column, samples_.size())
                             : fmt::format("the number of '{}' should not be followed by {}",
                                           samples_[column - 1], file::quoted(*at)));
    }
    const char* const number = ++at;
    at = end_of_number(number, end);
    if (at == nullptr || (format_.presence && (at - number != 1 || *number > '1'))) {
      const std::string_view rest = text.substr(static_cast<std::size_t>(number - text.data()));
      fail(line, fmt::format("for '{}' it says {}, which is no {}", samples_[column],
                             file::quoted(rest.substr(0, rest.find_first_of("\t\n"))),
                             format_.presence ? "0 or 1" : "count"));
    }
    row.samples += *number == '0' ? 0 : 1;
    if (at == end) fail(line, "the file ends in the middle of this row");
  }
  if (*at != '\n') {
    fail(line, *at == '\t' ? fmt::format("this row has more numbers than the {} samples", samples_.size())
                           : fmt::format("the last number should not be followed by {}", file::quoted(*at)));
  }
  row.bytes = static_cast<std::size_t>(at - text.data());
  return row;
}

}  // namespace warpmer::formats
