#include "engine/matrix_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/error.h"
#include "core/kmer.h"
#include "io/content.h"
#include "io/decompressed.h"
#include "io/input_error.h"

namespace warpmer::engine {
namespace {

constexpr std::string_view kMagic = "#warpmer-matrix";
/// Longer header lines are none; rows are as long as the header says.
constexpr std::size_t kLongestHeader = std::size_t{64} << 20;
constexpr std::size_t kMostDigits = 20;

std::string_view strand_name(bool canonical) { return canonical ? "canonical" : "forward"; }
std::string_view values_text(bool presence) { return presence ? "presence" : "counts"; }

/// The part of `line` up to the next `separator`, which is taken off as well.
std::string_view next_field(std::string_view& line, char separator) {
  const std::size_t end = std::min(line.find(separator), line.size());
  const std::string_view field = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return field;
}

template <class Number>
bool parse(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
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
  std::uint64_t value = 0;
  if (digits >= kMostDigits && !parse({at, digits}, value)) return nullptr;
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

MatrixFile::MatrixFile(const std::string& path, unsigned threads)
    : shown_(path == "-" ? std::string(io::kStandardInput) : path) {
  auto file = std::make_unique<io::ByteFile>(path, shown_, cancelled_);
  file_bytes_ = file->file_bytes();
  const io::Content content = io::detect_content(*file);
  source_ = io::decompressed(std::move(file), content, threads, cancelled_);
  try {
    read_format(header_line());
    read_samples(header_line());
  } catch (...) {
    cancelled_ = true;  // threads may be decompressing
    throw;
  }
}

MatrixFile::~MatrixFile() { cancelled_ = true; }

void MatrixFile::fail(std::uint64_t line, std::string_view what) const {
  io::fail_at({.file = shown_, .line = line}, what);
}

std::string MatrixFile::header_line() {
  constexpr std::string_view kNone =
      "this is no matrix written by warpmer, which begins with '#warpmer-matrix'";
  std::size_t end = 0;
  while ((end = rest_.find('\n')) == std::string::npos) {
    if (rest_.size() > kLongestHeader || !read_more(rest_, kRowBytes)) fail(next_line_, kNone);
    // What is not text at all should not be read on and on.
    if (next_line_ == 1 && !rest_.starts_with(kMagic.substr(0, rest_.size()))) fail(1, kNone);
  }
  std::string line = rest_.substr(0, end);
  rest_.erase(0, end + 1);
  ++next_line_;
  return line;
}

void MatrixFile::read_format(std::string_view line) {
  if (next_field(line, ' ') != kMagic)
    fail(1, "this is no matrix written by warpmer, which begins with '#warpmer-matrix'");
  int fields = 0;
  for (; !line.empty(); ++fields) {
    const std::string_view field = next_field(line, ' ');
    const std::size_t equals = std::min(field.find('='), field.size());
    if (!set_field(format_, field.substr(0, equals), field.substr(std::min(equals + 1, field.size()))))
      fail(1, fmt::format("{} is not known; the matrix is damaged, or of another version of warpmer",
                          io::quoted(field)));
  }
  if (fields != 5) fail(1, "it should say k, strand, values, min-samples and hash-version, each once");
}

void MatrixFile::read_samples(std::string_view line) {
  if (next_field(line, '\t') != "kmer") fail(2, "the names of the columns should begin with 'kmer'");
  const bool has_last = !line.ends_with('\t');
  while (!line.empty()) samples_.emplace_back(next_field(line, '\t'));
  if (!has_last || samples_.empty() || samples_.back().ends_with('\r'))
    fail(2, "there should be a name for each sample, tabs between them");
}

bool MatrixFile::read_more(std::string& text, std::size_t bytes) {
  const std::size_t before = text.size();
  text.resize(before + bytes);
  std::size_t got = 0;
  try {
    got = source_->read(text.data() + before, bytes);
  } catch (const io::Cancelled&) {  // `cancelled_` says so
  }
  text.resize(before + got);
  return got > 0;
}

bool MatrixFile::next(MatrixRows& rows) {
  const std::scoped_lock lock(mutex_);
  if (is_done_ || cancelled_) return false;
  is_done_ = true;  // for other threads, should this one throw: what is left would not begin with a row
  const bool is_there = read_rows(rows);
  is_done_ = !is_there || rows.is_end;
  return is_there;
}

bool MatrixFile::read_rows(MatrixRows& rows) {
  rows.text.swap(rest_);
  rest_.clear();
  std::size_t lines_end = std::string::npos;
  while (!is_read_ && (rows.text.size() < kRowBytes || lines_end == std::string::npos)) {
    is_read_ = !read_more(rows.text, kRowBytes);
    lines_end = rows.text.rfind('\n');
    const std::size_t most = format_.k + samples_.size() * (kMostDigits + 1) + 1;
    if (lines_end == std::string::npos && rows.text.size() > most + kRowBytes)
      fail(next_line_, "this row is longer than the names of the columns allow");
  }
  if (cancelled_) return false;
  lines_end = rows.text.rfind('\n');
  const std::size_t used = lines_end == std::string::npos ? 0 : lines_end + 1;
  rows.file_bytes = source_->disk_bytes() - bytes_used_;
  bytes_used_ += rows.file_bytes;
  rows.first_line = next_line_;
  rows.ordinal = next_ordinal_++;
  rows.row_before = row_before_;
  next_line_ += static_cast<std::uint64_t>(std::count(rows.text.begin(), rows.text.end(), '\n'));
  if (is_read_ && used < rows.text.size()) fail(next_line_, "the file ends in the middle of this row");
  rest_.assign(rows.text, used);
  rows.text.resize(used);
  rows.is_end = rows.text.empty();
  if (used > 0) {
    const std::size_t last_row = used < 2 ? std::string::npos : rows.text.rfind('\n', used - 2);
    row_before_ = rows.text.substr(last_row == std::string::npos ? 0 : last_row + 1, format_.k);
  }
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
                                           samples_[column - 1], io::quoted(*at)));
    }
    const char* const number = ++at;
    at = end_of_number(number, end);
    if (at == nullptr || (format_.presence && (at - number != 1 || *number > '1'))) {
      const std::string_view rest = text.substr(static_cast<std::size_t>(number - text.data()));
      fail(line, fmt::format("for '{}' it says {}, which is no {}", samples_[column],
                             io::quoted(rest.substr(0, rest.find_first_of("\t\n"))),
                             format_.presence ? "0 or 1" : "count"));
    }
    row.samples += *number == '0' ? 0 : 1;
    if (at == end) fail(line, "the file ends in the middle of this row");
  }
  if (*at != '\n') {
    fail(line, *at == '\t' ? fmt::format("this row has more numbers than the {} samples", samples_.size())
                           : fmt::format("the last number should not be followed by {}", io::quoted(*at)));
  }
  row.bytes = static_cast<std::size_t>(at - text.data());
  return row;
}

}  // namespace warpmer::engine
