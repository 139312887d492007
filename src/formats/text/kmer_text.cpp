#include "formats/text/kmer_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "file/input_error.h"
#include "file/output/output_path.h"

namespace warpmer::formats {
namespace {

/// Length that is enough to say what stands there.
constexpr io::LineLimit kLongestLine{4096, "this line is too long for a k-mer and its count"};

/// Pipes are taken for text, and cannot be looked into before.
constexpr std::string_view kNoText =
    "this is no text of k-mers, as which a pipe is read; an index or a database has to be a file";
constexpr io::LineLimit kLongestLineOfStream{kLongestLine.bytes, kNoText};

constexpr std::string_view kHintForSequences = "; for sequences there is 'warpmer count'";

constexpr std::size_t kMaxDigits = 20;
constexpr std::size_t kMaxSeparators = 3;

bool is_of_no_text(char c) { return static_cast<unsigned char>(c - ' ') >= 0x7F - ' ' && c != '\t'; }

bool is_separator(char c) { return c == '\t' || c == ' '; }

/// `KMER<TAB>COUNT`
template <class Key>
char* format_tsv(char* out, Key kmer, std::uint32_t k, std::uint64_t count) {
  kmer_to_text(kmer, k, out);
  out += k;
  *out++ = '\t';
  out = std::to_chars(out, out + kMaxDigits, count).ptr;
  *out++ = '\n';
  return out;
}

/// `>COUNT`, then the k-mer on a line of its own.
template <class Key>
char* format_fasta(char* out, Key kmer, std::uint32_t k, std::uint64_t count) {
  *out++ = '>';
  out = std::to_chars(out, out + kMaxDigits, count).ptr;
  *out++ = '\n';
  kmer_to_text(kmer, k, out);
  out += k;
  *out++ = '\n';
  return out;
}

}  // namespace

TextSource::TextSource(const std::string& path, bool canonical, unsigned threads)
    : is_stream_(path == "-" || file::is_stream(path)),
      lines_(path, threads, is_stream_ ? kLongestLineOfStream : kLongestLine) {
  std::string_view kmer;
  has_first_ = next_record(kmer, first_.count);
  lines_.set_limit(kLongestLine);
  if (!has_first_) lines_.fail("there is no k-mer in it, so that k is not known");
  if (kmer.empty() || kmer.size() > kMaxK) {
    lines_.fail(fmt::format("a k-mer of {} characters; warpmer's have 1 to {}", kmer.size(), kMaxK));
  }
  facts_.k = static_cast<std::uint32_t>(kmer.size());
  facts_.canonical = canonical;
  facts_.may_repeat = true;
  first_.kmer = parse_kmer(kmer);
}

std::size_t TextSource::read(std::span<CountedKmer> out) {
  std::size_t n = 0;
  if (has_first_ && !out.empty()) {
    out[n++] = first_;
    has_first_ = false;
  }
  std::string_view kmer;
  for (; n < out.size() && next_record(kmer, out[n].count); ++n) {
    if (kmer.size() != facts_.k) {
      lines_.fail(
          fmt::format("a k-mer of {} characters, and those before it have {}", kmer.size(), facts_.k));
    }
    out[n].kmer = parse_kmer(kmer);
  }
  return n;
}

TextForm TextSource::form_of(std::string_view line) const {
  if (line.starts_with('>')) return TextForm::fasta;
  if (line.starts_with('@')) {
    lines_.fail(fmt::format("{} is no line of a k-mer, a tab and its count{}", file::quoted(line),
                            kHintForSequences));
  }
  if (is_stream_ && std::ranges::any_of(line, is_of_no_text)) lines_.fail(kNoText);
  return TextForm::tsv;
}

bool TextSource::next_record(std::string_view& kmer, std::uint64_t& count) {
  std::string_view line;
  if (!lines_.next_entry(line)) return false;
  if (!std::exchange(is_form_known_, true)) form_ = form_of(line);
  if (form_ == TextForm::tsv) {
    const bool is_as_before = facts_.k > 0 && facts_.k < line.size() && is_separator(line[facts_.k]);
    const std::size_t separator = is_as_before ? facts_.k : line.find_first_of("\t ");
    if (separator == std::string_view::npos) {
      lines_.fail(fmt::format("{} is no line of a k-mer, a tab and its count", file::quoted(line)));
    }
    kmer = line.substr(0, separator);
    count = parse_count(io::entry_of_line(line.substr(separator + 1)));
    return true;
  }
  if (!line.starts_with('>')) lines_.fail(fmt::format("{} is no line '>COUNT'", file::quoted(line)));
  count = parse_count(io::entry_of_line(line.substr(1)));
  if (!lines_.next_entry(kmer)) lines_.fail("the file ends after a count, before its k-mer");
  return true;
}

std::uint64_t TextSource::parse_count(std::string_view text) const {
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error == std::errc::result_out_of_range) {
    lines_.fail(fmt::format("the count {} is larger than 2^64 - 1", file::quoted(text)));
  }
  if (error != std::errc() || end != text.data() + text.size()) {
    lines_.fail(fmt::format("{} is no count, which is a whole number of at least 1{}", file::quoted(text),
                            form_ == TextForm::fasta ? kHintForSequences : ""));
  }
  if (count == 0) lines_.fail("a count of 0; leave k-mers out that do not occur");
  return count;
}

Key128 TextSource::parse_kmer(std::string_view text) const {
  const auto parse = [&](auto kmer) {
    if (!kmer_from_text(text, kmer))
      lines_.fail(fmt::format("{} has characters other than A C G T U", file::quoted(text, kMaxK)));
    return Key128{kmer};
  };
  return text.size() <= kMaxNarrowK ? parse(Key64{}) : parse(Key128{});
}

void TextSink::encode(std::span<const CountedKmer> kmers, EncodedKmers& to) const {
  char* out = to.bytes.reserve(kmers.size() * (k_ + kMaxDigits + kMaxSeparators));
  const auto put = [&](auto format, auto zero) {
    using Key = decltype(zero);
    for (const CountedKmer& each : kmers) out = format(out, static_cast<Key>(each.kmer), k_, each.count);
  };
  with_key_type(k_, [&](auto zero) {
    using Key = decltype(zero);
    form_ == TextForm::tsv ? put(format_tsv<Key>, zero) : put(format_fasta<Key>, zero);
  });
  to.bytes.commit(out);
  to.kmers += kmers.size();
}

void TextSink::append(const EncodedKmers& encoded) {
  so_far_.done += encoded.kmers;
  output_.write(encoded.bytes.text(), so_far_);
}

}  // namespace warpmer::formats
