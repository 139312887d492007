#include "formats/fastk/fastk_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "file/output/output_path.h"
#include "formats/stream/suffix_records.h"

namespace warpmer::formats {
namespace {

static_assert(std::endian::native == std::endian::little,
              "numbers are read and written as they are in memory");

constexpr std::string_view kTableEnding = ".ktab";
constexpr std::uint64_t kStubHeaderBytes = 16, kPartHeaderBytes = 12;
constexpr std::uint32_t kFastkCountBytes = 2;
constexpr std::uint32_t kMostPrefixBytes = 3;
/// From so many k-mers on FastK takes two, and three, bytes for a prefix; and k-mers must be as long as that.
constexpr std::uint64_t kTwoByteKmers = 0x40000, kThreeByteKmers = 0x4000001;
constexpr std::uint32_t kTwoByteK = 8, kThreeByteK = 12;

template <class T>
T load_at(const file::MappedInput& file, std::uint64_t at) {
  T value;
  std::memcpy(&value, file.bytes().data() + at, sizeof value);
  return value;
}

std::uint32_t prefix_bytes_for(std::uint32_t k, std::uint64_t kmers) {
  if (kmers >= kThreeByteKmers && k >= kThreeByteK) return 3;
  return kmers >= kTwoByteKmers && k >= kTwoByteK ? 2 : 1;
}

}  // namespace

std::string fastk_stub(const std::string& path) {
  return path.ends_with(kTableEnding) ? path : path + std::string(kTableEnding);
}

std::string fastk_part(const std::string& stub, std::uint64_t part) {
  const std::filesystem::path path(stub);
  return (path.parent_path() / fmt::format(".{}.{}", path.filename().string(), part)).string();
}

std::vector<std::string> fastk_files(const std::string& path) {
  std::vector<std::string> files = {fastk_stub(path)};
  std::error_code ignored;
  for (std::uint64_t part = 1;; ++part) {
    std::string file = fastk_part(files.front(), part);
    if (part > kFastkParts && !std::filesystem::exists(file, ignored)) return files;
    files.push_back(std::move(file));
  }
}

void remove_fastk_parts(const std::string& stub, std::uint64_t parts) {
  std::error_code ignored;
  while (std::filesystem::remove(fastk_part(stub, ++parts), ignored)) {
  }
}

bool is_fastk_table(const std::string& path) {
  std::error_code ignored;
  const std::string stub = fastk_stub(path);
  const bool is_another_file = stub != path && std::filesystem::exists(path, ignored);
  return !is_another_file && std::filesystem::is_regular_file(stub, ignored);
}

FastkSource::FastkSource(const std::string& path) : stub_(fastk_stub(path)), stub_path_(fastk_stub(path)) {
  read_stub();
}

void FastkSource::read_stub() {
  const std::uint64_t size = stub_.bytes().size();
  if (size < kStubHeaderBytes) stub_.refuse("this is no FastK table, or it is cut off in its header");
  const auto k = load_at<std::uint32_t>(stub_, 0);
  const auto parts = load_at<std::uint32_t>(stub_, 4);
  const auto least = load_at<std::uint32_t>(stub_, 8);
  prefix_bytes_ = load_at<std::uint32_t>(stub_, 12);
  const bool is_sound = k >= 1 && parts >= 1 && parts <= INT32_MAX && least <= kLargestFastkCount &&
                        prefix_bytes_ >= 1 && prefix_bytes_ <= kMostPrefixBytes;
  if (!is_sound) stub_.refuse("this is no FastK table, or its header is damaged");
  if (k > kMaxK) stub_.refuse(fmt::format("k-mers of {} bases; warpmer's have 1 to {}", k, kMaxK));
  const std::uint64_t wanted = kStubHeaderBytes + (std::uint64_t{8} << (8 * prefix_bytes_));
  if (size != wanted) {
    stub_.refuse(
        fmt::format("this FastK table is cut off or damaged: its stub has {} bytes, not {}", size, wanted));
  }
  kmer_bytes_ = (k + 3) / 4;
  if (prefix_bytes_ > kmer_bytes_) {
    stub_.refuse(
        fmt::format("this FastK table is damaged: no {}-mers have prefixes of {} bytes", k, prefix_bytes_));
  }
  record_bytes_ = kmer_bytes_ - prefix_bytes_ + kFastkCountBytes;
  facts_.k = k;
  facts_.min_count = std::max(least, 1u);
  facts_.largest_count = kLargestFastkCount;
  limit_.set_limit(kLargestFastkCount);
  open_parts(parts);
  check_index();
}

void FastkSource::open_parts(std::uint64_t parts) {
  std::error_code failed;
  for (std::uint64_t i = 1; i <= parts; ++i) {
    const std::string path = fastk_part(stub_path_, i);
    if (!std::filesystem::exists(path, failed)) {
      stub_.refuse(
          fmt::format("a FastK table of {} parts, and the hidden file '{}' is not there", parts, path));
    }
    auto part = std::make_unique<file::MappedInput>(path);
    const std::uint64_t size = part->bytes().size();
    if (size < kPartHeaderBytes) part->refuse("this part of a FastK table is cut off in its header");
    if (const auto k = load_at<std::uint32_t>(*part, 0); k != facts_.k) {
      part->refuse(
          fmt::format("a part of a table of {}-mers, and {} has {}-mers", k, stub_.name(), facts_.k));
    }
    const auto kmers = load_at<std::uint64_t>(*part, 4);
    if (Key128{kmers} * record_bytes_ + kPartHeaderBytes != size) {
      part->refuse(
          fmt::format("this part of a FastK table has {} bytes, and {} k-mers of {} bytes do not "
                      "make that; it is cut off, or of another table",
                      size, kmers, record_bytes_));
    }
    facts_.distinct += kmers;
    parts_.push_back({std::move(part), facts_.distinct});
  }
  parts_.front().file->will_need(0, parts_.front().file->bytes().size());
}

std::uint64_t FastkSource::end_of_prefix(std::uint64_t prefix) const {
  return load_at<std::uint64_t>(stub_, kStubHeaderBytes + 8 * prefix);
}

void FastkSource::check_index() const {
  const std::uint64_t prefixes = std::uint64_t{1} << (8 * prefix_bytes_);
  std::uint64_t last = 0;
  for (std::uint64_t i = 0; i < prefixes; ++i) {
    const std::uint64_t end = end_of_prefix(i);
    if (end < last || end > facts_.distinct) {
      stub_.refuse(fmt::format("this FastK table is damaged: at byte {} its index does not go on in order",
                               kStubHeaderBytes + 8 * i));
    }
    last = end;
  }
  if (last != facts_.distinct) {
    stub_.refuse(
        fmt::format("this FastK table is damaged: its index ends with {} k-mers, and its parts "
                    "have {}",
                    last, facts_.distinct));
  }
}

/// Moves on to the part of the next k-mer.
void FastkSource::next_part() {
  while (next_ == parts_[part_].end) {
    parts_[part_].file->check_size();
    parts_[part_].file->release(0, parts_[part_].file->bytes().size());
    part_begin_ = parts_[part_++].end;
    released_ = 0;
  }
}

CountedKmer FastkSource::decode(const std::byte* record) const {
  Key128 bits = prefix_;
  for (std::uint32_t i = prefix_bytes_; i < kmer_bytes_; ++i)
    bits = bits << 8 | static_cast<std::uint8_t>(*record++);
  std::uint16_t count;
  std::memcpy(&count, record, sizeof count);
  return {bits, count};
}

std::size_t FastkSource::read(std::span<CountedKmer> out) {
  const std::uint32_t padding = 8 * kmer_bytes_ - 2 * facts_.k;
  std::size_t n = 0;
  for (; n < out.size() && next_ < facts_.distinct; ++next_, ++n) {
    next_part();
    while (end_of_prefix(prefix_) <= next_) ++prefix_;  // the last has all
    const file::MappedInput& file = *parts_[part_].file;
    const std::uint64_t at = kPartHeaderBytes + (next_ - part_begin_) * record_bytes_;
    out[n] = decode(file.bytes().data() + at);
    const Key128 bits = out[n].kmer;
    out[n].kmer = bits >> padding;
    const bool is_one = (bits & ((Key128{1} << padding) - 1)) == 0 && out[n].count != 0 &&
                        out[n].count <= kLargestFastkCount && (next_ == 0 || out[n].kmer > last_);
    if (!is_one) {
      file.refuse(
          fmt::format("this FastK table is damaged: the entry at byte {} is no {}-mer with a count, "
                      "or out of order",
                      at, facts_.k));
    }
    if (canonical(out[n].kmer, facts_.k) != out[n].kmer) {
      file.refuse(
          fmt::format("the k-mer at byte {} is not canonical: the table is damaged, or has both "
                      "strands (Symmex), which is not read",
                      at));
    }
    last_ = out[n].kmer;
    limit_.note(out[n].count);
    release_read(file, at, released_);
  }
  return n;
}

FastkSink::FastkSink(const std::string& path, const StreamFacts& facts, std::uint32_t parts)
    : facts_(facts),
      kmer_bytes_((facts.k + 3) / 4),
      prefix_bytes_(prefix_bytes_for(facts.k, facts.distinct)),
      record_bytes_(kmer_bytes_ - prefix_bytes_ + kFastkCountBytes),
      target_(file::resolve(fastk_stub(path))),
      stub_(fastk_stub(path)),
      counts_(std::size_t{1} << (8 * prefix_bytes_)) {
  if (!facts.canonical)
    throw UsageError(fmt::format("{}: FastK's k-mers are canonical, and these are not", path));
  for (std::uint32_t i = 1; i <= parts; ++i)
    parts_.push_back(std::make_unique<file::BufferedOutput>(fastk_part(target_, i)));
  stub_.expect(kStubHeaderBytes + 8 * counts_.size());
  begin_part();
}

void FastkSink::begin_part() {
  file::BufferedOutput& part = *parts_[part_];
  part.expect(kPartHeaderBytes + facts_.distinct / parts_.size() * record_bytes_);
  part.put(facts_.k);
  part.put(std::uint64_t{0});
  part_begin_ = written_;
}

void FastkSink::end_part() {
  const std::uint64_t kmers = written_ - part_begin_;
  parts_[part_]->rewrite(4, {reinterpret_cast<const char*>(&kmers), sizeof kmers});
}

void FastkSink::encode(std::span<const CountedKmer> kmers, EncodedKmers& to) const {
  encode_suffixes(kmers, 8 * kmer_bytes_ - 2 * facts_.k, kmer_bytes_ - prefix_bytes_, kFastkCountBytes, to);
}

void FastkSink::append(const EncodedKmers& encoded) {
  std::string_view bytes = encoded.bytes.text();
  std::size_t ready = 0;  // bytes of this part
  for (const auto& [prefix, kmers] : encoded.runs) {
    const std::uint64_t share = facts_.distinct / parts_.size() * (part_ + 1);
    if (prefix != last_prefix_ && facts_.distinct > 0 && written_ >= share && part_ + 1 < parts_.size()) {
      parts_[part_]->write(bytes.substr(0, ready));
      bytes.remove_prefix(std::exchange(ready, 0));
      end_part();
      ++part_;
      begin_part();
    }
    last_prefix_ = prefix;
    counts_[prefix] += kmers;
    written_ += kmers;
    ready += kmers * record_bytes_;
  }
  parts_[part_]->write(bytes);
}

void FastkSink::write_stub() {
  stub_.put(facts_.k);
  stub_.put(static_cast<std::uint32_t>(parts_.size()));
  stub_.put(static_cast<std::uint32_t>(std::min(facts_.min_count, kLargestFastkCount)));
  stub_.put(prefix_bytes_);
  std::uint64_t end = 0;
  for (const std::uint64_t kmers : counts_) stub_.put(end += kmers);
}

void FastkSink::finish() {
  end_part();
  while (++part_ < parts_.size()) begin_part();  // empty ones
  write_stub();
  std::vector<file::BufferedOutput*> files;  // none is of use without the others
  files.reserve(parts_.size() + 1);
  for (const auto& part : parts_) files.push_back(part.get());
  files.push_back(&stub_);
  file::finish_together(files);
  remove_fastk_parts(target_, parts_.size());
}

}  // namespace warpmer::formats
