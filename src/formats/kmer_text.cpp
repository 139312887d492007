#include "formats/kmer_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "io/byte_file.h"
#include "io/content.h"
#include "io/decompressed.h"
#include "io/input_error.h"

namespace warpmer::formats {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
/// A longer line holds no k-mer with a count, but something else; what is enough to say so.
constexpr std::size_t kLongestLine = 4096;

constexpr std::size_t kMaxDigits = 20;
constexpr std::size_t kMaxSeparators = 3;

std::unique_ptr<io::ByteSource> open(const std::string& path, const std::string& shown, unsigned threads,
                                     const std::atomic<bool>& cancelled) {
  auto file = std::make_unique<io::ByteFile>(path, shown, cancelled);
  const io::Content content = io::detect_content(*file);
  return io::decompressed(std::move(file), content, threads, cancelled);
}

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
    : shown_(path == "-" ? std::string(io::kStandardInput) : path),
      source_(open(path, shown_, threads, cancelled_)),
      buffer_(kBufferBytes) {
  read_more();
  if (end_ > 0 && buffer_[0] == '>') form_ = TextForm::fasta;
  std::string_view kmer;
  has_first_ = next_record(kmer, first_.count);
  if (!has_first_) fail("there is no k-mer in it, so that k is not known");
  if (kmer.empty() || kmer.size() > kMaxK) {
    fail(fmt::format("a k-mer of {} characters; warpmer's have 1 to {}", kmer.size(), kMaxK));
  }
  facts_.k = static_cast<std::uint32_t>(kmer.size());
  facts_.canonical = canonical;
  first_.kmer = parse_kmer(kmer);
}

TextSource::~TextSource() {
  cancelled_ = true;  // threads may be decompressing ahead
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
      fail(fmt::format("a k-mer of {} characters, and those before it have {}", kmer.size(), facts_.k));
    }
    out[n].kmer = parse_kmer(kmer);
  }
  return n;
}

bool TextSource::next_record(std::string_view& kmer, std::uint64_t& count) {
  std::string_view line;
  if (!next_line(line)) return false;
  if (form_ == TextForm::tsv) {
    const bool is_as_before = facts_.k > 0 && facts_.k < line.size() && is_separator(line[facts_.k]);
    const std::size_t separator = is_as_before ? facts_.k : line.find_first_of("\t ");
    if (separator == std::string_view::npos) {
      fail(fmt::format("{} is no line of a k-mer, a tab and its count", io::quoted(line)));
    }
    kmer = line.substr(0, separator);
    count = parse_count(line.substr(separator + 1));
    return true;
  }
  if (!line.starts_with('>')) fail(fmt::format("{} is no line '>COUNT'", io::quoted(line)));
  count = parse_count(line.substr(1));
  if (!next_line(kmer)) fail("the file ends after a count, before its k-mer");
  return true;
}

/// Lines without what ends them; `line` is valid until the next call.
bool TextSource::next_line(std::string_view& line) {
  const char* newline = nullptr;
  while ((newline = static_cast<const char*>(std::memchr(buffer_.data() + at_, '\n', end_ - at_))) ==
             nullptr &&
         !is_at_end_) {
    if (end_ - at_ > kLongestLine) {
      ++line_;
      fail("this line is too long for a k-mer and its count");
    }
    read_more();
  }
  if (at_ == end_) return false;
  const auto length =
      newline == nullptr ? end_ - at_ : static_cast<std::size_t>(newline - buffer_.data()) - at_;
  line = {buffer_.data() + at_, length};
  at_ += length + (newline == nullptr ? 0 : 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  ++line_;
  return true;
}

void TextSource::read_more() {
  std::memmove(buffer_.data(), buffer_.data() + at_, end_ - at_);
  end_ -= std::exchange(at_, 0);
  const std::size_t got = source_->read(buffer_.data() + end_, buffer_.size() - end_);
  is_at_end_ = got == 0;
  end_ += got;
}

std::uint64_t TextSource::parse_count(std::string_view text) const {
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error == std::errc::result_out_of_range) {
    fail(fmt::format("the count {} is larger than 2^64 - 1", io::quoted(text)));
  }
  if (error != std::errc() || end != text.data() + text.size()) {
    fail(fmt::format("{} is no count, which is a whole number of at least 1{}", io::quoted(text),
                     form_ == TextForm::fasta ? "; for sequences there is 'warpmer count'" : ""));
  }
  if (count == 0) fail("a count of 0; leave k-mers out that do not occur");
  return count;
}

Key128 TextSource::parse_kmer(std::string_view text) const {
  const auto parse = [&](auto kmer) {
    if (!kmer_from_text(text, kmer))
      fail(fmt::format("{} has characters other than A C G T U", io::quoted(text, kMaxK)));
    return Key128{kmer};
  };
  return text.size() <= kMaxNarrowK ? parse(Key64{}) : parse(Key128{});
}

void TextSource::fail(const std::string& what) const { io::fail_at({.file = shown_, .line = line_}, what); }

void TextSink::write(std::span<const CountedKmer> kmers) {
  const auto put = [&](auto format, auto zero) {
    using Key = decltype(zero);
    constexpr std::size_t kStep = 1024;  // entries between two looks at the output's buffer
    for (; !kmers.empty(); kmers = kmers.subspan(std::min(kStep, kmers.size()))) {
      char* const begin = output_.reserve(kStep * (k_ + kMaxDigits + kMaxSeparators));
      char* out = begin;
      const auto step = kmers.first(std::min(kStep, kmers.size()));
      for (const CountedKmer& each : step) out = format(out, static_cast<Key>(each.kmer), k_, each.count);
      so_far_.done += step.size();
      output_.commit(static_cast<std::size_t>(out - begin), so_far_);
    }
  };
  with_key_type(k_, [&](auto zero) {
    using Key = decltype(zero);
    form_ == TextForm::tsv ? put(format_tsv<Key>, zero) : put(format_fasta<Key>, zero);
  });
}

}  // namespace warpmer::formats
