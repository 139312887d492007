#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "formats/kff_file.h"
#include "formats/stream/count_width.h"

namespace warpmer::formats {
namespace {

constexpr std::uint32_t kUnknownCountBytes = 4;
/// Bytes of a section, at most: they wait until it is known how many k-mers it has.
constexpr std::uint64_t kSectionBytes = std::uint64_t{1} << 20;
/// Bytes that may be written beyond a block, to be written over.
constexpr std::uint64_t kBeyondBytes = 24;

void append_number(std::string& to, std::uint64_t value, unsigned bytes = 8) {
  for (unsigned i = bytes; i-- > 0;) to += static_cast<char>(value >> (8 * i));
}

void append_variable(std::string& to, std::string_view name, std::uint64_t value) {
  to.append(name) += '\0';
  append_number(to, value);
}

void append_index_entry(std::string& to, char letter, std::uint64_t at, std::uint64_t index_end) {
  to += letter;
  append_number(to, at - index_end);  // behind us: a negative number
}

/// Stores the highest bits first, and more than are wanted.
void store_highest(char* to, std::uint64_t word) {
  const std::uint64_t bytes = __builtin_bswap64(word);
  std::memcpy(to, &bytes, sizeof bytes);
}

}  // namespace

KffSink::KffSink(const std::string& path, const StreamFacts& facts, std::uint32_t count_bytes)
    : output_(path),
      facts_(facts),
      sequence_bytes_((facts.k + 3) / 4),
      count_bytes_(count_bytes != 0           ? count_bytes
                   : facts.largest_count != 0 ? bytes_of_count(facts.largest_count)
                                              : kUnknownCountBytes),
      most_in_section_(kSectionBytes / (sequence_bytes_ + count_bytes_)),
      section_(std::make_unique_for_overwrite<char[]>(kSectionBytes)) {
  write_header();
}

void KffSink::write_header() {
  std::string header(kKffMark);
  header += {'\1', '\0', '\x1B', '\1', facts_.canonical ? '\1' : '\0'};  // 1.0; ACGT is 0123; each k-mer once
  append_number(header, 0, 4);                                           // no text
  variables_at_ = header.size();
  header += 'v';
  append_number(header, 4);
  append_variable(header, "k", facts_.k);
  append_variable(header, "max", 1);
  append_variable(header, "data_size", count_bytes_);
  append_variable(header, "ordered", 1);
  output_.write(header);
  output_.expect(header.size() + facts_.distinct * (sequence_bytes_ + count_bytes_));
}

void KffSink::encode(std::span<const CountedKmer> kmers, EncodedKmers& to) const {
  check_counts(kmers, facts_.k, count_bytes_);
  const std::uint32_t unused_bits = 128 - 8 * sequence_bytes_;
  char* out = to.bytes.reserve(kmers.size() * (sequence_bytes_ + count_bytes_) + kBeyondBytes);
  for (const CountedKmer& each : kmers) {
    note_place(each.kmer, to, "a KFF file");
    const Key128 highest = each.kmer << unused_bits;
    store_highest(out, static_cast<std::uint64_t>(highest >> 64));
    store_highest(out + 8, static_cast<std::uint64_t>(highest));
    store_highest(out + sequence_bytes_, each.count << (64 - 8 * count_bytes_));
    out += sequence_bytes_ + count_bytes_;
  }
  to.bytes.commit(out);
}

void KffSink::append(const EncodedKmers& encoded) {
  end_.note(encoded, "a KFF file");
  const std::size_t block_bytes = sequence_bytes_ + count_bytes_;
  std::string_view blocks = encoded.bytes.text();
  while (!blocks.empty()) {
    const auto part = blocks.substr(
        0, std::min<std::size_t>(blocks.size(), (most_in_section_ - section_kmers_) * block_bytes));
    part.copy(section_.get() + section_kmers_ * block_bytes, part.size());
    section_kmers_ += part.size() / block_bytes;
    if (section_kmers_ == most_in_section_) write_section();
    blocks.remove_prefix(part.size());
  }
}

void KffSink::write_section() {
  // KMC's programs refuse a file without a section of k-mers, so that of an empty file is written, too.
  if (section_kmers_ == 0 && !sections_at_.empty()) return;
  sections_at_.push_back(output_.bytes_written());
  std::string begin = "r";
  append_number(begin, section_kmers_);
  output_.write(begin);
  output_.write({section_.get(), section_kmers_ * (sequence_bytes_ + count_bytes_)});
  section_kmers_ = 0;
}

void KffSink::finish() {
  write_section();
  const std::uint64_t index_at = output_.bytes_written();
  write_index();
  write_footer(index_at);
  output_.write(kKffMark);
  output_.finish();
}

void KffSink::write_index() {
  const std::uint64_t entries = sections_at_.size() + 2;
  const std::uint64_t end = output_.bytes_written() + 1 + 8 + 9 * entries + 8;
  std::string index = "i";
  append_number(index, entries);
  append_index_entry(index, 'v', variables_at_, end);
  for (const std::uint64_t at : sections_at_) append_index_entry(index, 'r', at, end);
  append_index_entry(index, 'v', end, end);  // the footer
  append_number(index, 0);                   // no more indexes
  output_.write(index);
}

void KffSink::write_footer(std::uint64_t index_at) {
  std::string variables;
  append_variable(variables, "first_index", index_at);
  append_variable(variables, "min_count", facts_.min_count);
  append_variable(variables, "max_count", facts_.max_count);
  constexpr std::string_view kLast = "footer_size";
  std::string footer = "v";
  append_number(footer, 4);
  footer += variables;
  append_variable(footer, kLast, footer.size() + kLast.size() + 1 + 8);
  output_.write(footer);
}

}  // namespace warpmer::formats
