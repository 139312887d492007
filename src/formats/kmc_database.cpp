#include "formats/kmc_database.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <utility>

#include "formats/stream/count_width.h"
#include "formats/stream/suffix_records.h"

namespace warpmer::formats {
namespace {

static_assert(std::endian::native == std::endian::little,
              "numbers are read and written as they are in memory");

constexpr std::string_view kPrefixFile = ".kmc_pre", kSuffixFile = ".kmc_suf";
constexpr std::string_view kPrefixMark = "KMCP", kSuffixMark = "KMCS";
constexpr std::uint64_t kMarkBytes = 4;
/// Behind the header: its length, and the mark.
constexpr std::uint64_t kTailBytes = 8;

constexpr std::uint32_t kSorted = 0, kBinned = 0x200;
constexpr std::uint32_t kSortedHeaderBytes = 64, kBinnedHeaderBytes = 68;
constexpr std::uint32_t kMostPrefixBases = 15, kMostSignatureBases = 11;
constexpr std::uint32_t kMostKmcCountBytes = 4;
/// Most bases of a prefix in databases that we write: a table of up to 32 MiB.
constexpr std::uint32_t kMostOwnPrefixBases = 11;

/// Bytes that `KmcSource::decode` may look at.
constexpr std::uint64_t kKmcDecodedBytes = 32;

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// Takes the count out of the 8 bytes that begin with it. A k-mer of a database without counts is there once.
class CountReader {
 public:
  explicit CountReader(std::uint32_t bytes)
      : mask_(bytes == 0 ? 0 : largest_of_bytes(bytes)), absent_(bytes == 0 ? 1 : 0) {}
  std::uint64_t operator()(std::uint64_t word) const { return (word & mask_) | absent_; }

 private:
  std::uint64_t mask_, absent_;
};

bool has_mark(std::span<const std::byte> bytes, std::uint64_t at, std::string_view mark) {
  return std::memcmp(bytes.data() + at, mark.data(), kMarkBytes) == 0;
}

/// p, such that table and records together are smallest. Not 1, though: kmc_dump 3.2.1 takes the k behind the
/// table for the number of a record where another prefix begins, which does harm only to tiny databases of
/// which some k-mers begin with the last prefix, and few begin with TT.
std::uint32_t prefix_bases_for(std::uint32_t k, std::uint64_t kmers) {
  std::uint32_t best = std::min(k, 2 + (k + 2) % 4);
  const auto bytes = [&](std::uint32_t p) { return (std::uint64_t{8} << (2 * p)) + kmers * ((k - p) / 4); };
  for (std::uint32_t p = best + 4; p <= std::min(k, kMostOwnPrefixBases); p += 4) {
    if (bytes(p) < bytes(best)) best = p;
  }
  return best;
}

}  // namespace

std::string kmc_prefix(const std::string& path) {
  for (const std::string_view suffix : {kPrefixFile, kSuffixFile}) {
    if (path.size() > suffix.size() && path.ends_with(suffix))
      return path.substr(0, path.size() - suffix.size());
  }
  return path;
}

bool is_kmc_database(const std::string& path) {
  std::error_code ignored;
  const std::string prefix = kmc_prefix(path);
  const bool is_another_file = prefix == path && std::filesystem::is_regular_file(path, ignored);
  return !is_another_file && std::filesystem::is_regular_file(prefix + std::string(kPrefixFile), ignored);
}

KmcSource::KmcSource(const std::string& path)
    : prefixes_(kmc_prefix(path).append(kPrefixFile)), suffixes_(kmc_prefix(path).append(kSuffixFile)) {
  read_header();
  check_suffixes();
  suffixes_.will_need(0, suffixes_.bytes().size());
}

void KmcSource::refuse_order() const {
  suffixes_.refuse("this KMC database is damaged: the k-mers of a bin are not in order");
}

void KmcSource::read_header() {
  const auto bytes = prefixes_.bytes();
  const std::uint64_t size = bytes.size();
  if (size < kMarkBytes || !has_mark(bytes, 0, kPrefixMark)) {
    prefixes_.refuse("this is no KMC database: it does not start with KMCP");
  }
  if (size < kMarkBytes + kSortedHeaderBytes + kTailBytes ||
      !has_mark(bytes, size - kMarkBytes, kPrefixMark)) {
    prefixes_.refuse("this KMC database is cut off: it does not end with KMCP; make it again");
  }
  const std::byte* const end = bytes.data() + size - kTailBytes;
  const auto header_bytes = load<std::uint32_t>(end);
  const auto version = load<std::uint32_t>(end - 4);
  const bool is_binned = version == kBinned;
  if ((version != kSorted && !is_binned) ||
      header_bytes != (is_binned ? kBinnedHeaderBytes : kSortedHeaderBytes)) {
    prefixes_.refuse(fmt::format("a KMC database of version {:#x}, which warpmer does not know", version));
  }
  const std::byte* at = end - header_bytes;
  const auto u32 = [&at] { return load<std::uint32_t>(std::exchange(at, at + 4)); };
  facts_.k = u32();
  const std::uint32_t mode = u32();
  count_bytes_ = u32();
  prefix_bases_ = u32();
  const std::uint32_t signature_bases = is_binned ? u32() : 0;
  const std::uint32_t min_count = u32();
  facts_.min_count = std::max(min_count, 1u);
  const std::uint64_t max_count_low = u32();
  facts_.distinct = load<std::uint64_t>(at);
  facts_.canonical = at[8] == std::byte{0};
  const std::uint64_t max_count = max_count_low | std::uint64_t{load<std::uint32_t>(at + 12)} << 32;
  const bool has_limit = max_count < kLargestKmcCount && max_count != kNoKmcLimit;
  facts_.max_count = has_limit ? max_count : UINT64_MAX;
  facts_.largest_count = count_bytes_ == 0 ? 1 : largest_of_bytes(std::min(count_bytes_, 8u));
  limit_.set(std::min(count_bytes_, 8u), facts_.max_count);
  if (max_count == kNoKmcLimit) limit_.may_be_lower();  // KMC wrote it, and does not write down -cs
  if (mode != 0) prefixes_.refuse("its counts are sums of qualities (kmc -q), no whole numbers");
  if (facts_.k < 1 || facts_.k > kMaxK) {
    prefixes_.refuse(fmt::format("k-mers of {} bases; warpmer's have 1 to {}", facts_.k, kMaxK));
  }
  const bool is_sound = prefix_bases_ <= std::min(facts_.k, kMostPrefixBases) &&
                        (facts_.k - prefix_bases_) % 4 == 0 && count_bytes_ <= 8 &&
                        signature_bases <= kMostSignatureBases;
  const std::uint32_t map_bases = std::min(signature_bases, kMostSignatureBases);
  const std::uint64_t map_bytes = is_binned ? 4 * ((std::uint64_t{1} << (2 * map_bases)) + 1) : 0;
  const std::uint64_t others = 2 * kMarkBytes + map_bytes + header_bytes + 4;
  const std::uint64_t table_bytes = size - std::min(size, others);
  table_size_ = table_bytes / 8 - (is_binned && table_bytes >= 8 ? 1 : 0);
  if (!is_sound || table_bytes % 8 != 0 || table_size_ == 0 ||
      table_size_ % (1u << (2 * prefix_bases_)) != 0 ||
      (!is_binned && table_size_ != 1u << (2 * prefix_bases_)) || table_entry(0) != 0) {
    prefixes_.refuse("this KMC database is damaged: its header does not fit its size");
  }
  if (facts_.k < kMaxNarrowK && facts_.distinct > std::uint64_t{1} << (2 * facts_.k)) {
    prefixes_.refuse(
        fmt::format("this KMC database is damaged: there are no {} {}-mers", facts_.distinct, facts_.k));
  }
  suffix_bytes_ = (facts_.k - prefix_bases_) / 4;
  cursor_.entry_end = table_size_;
  cursor_.record_end = facts_.distinct;
  header_ = {facts_.distinct,
             min_count,
             max_count,
             count_bytes_,
             prefix_bases_,
             signature_bases,
             is_binned ? table_size_ >> (2 * prefix_bases_) : 0};
  // Where bins are merged, pages of each are in use. With 64 KiB of each it takes as long, with a tenth more
  // memory.
  constexpr std::uint64_t kReadOfBin = std::uint64_t{16} << 10;
  release_bytes_ = std::max(kReleaseBytes, header_.bins * kReadOfBin);
}

void KmcSource::check_suffixes() const {
  const auto bytes = suffixes_.bytes();
  if (bytes.size() < kMarkBytes || !has_mark(bytes, 0, kSuffixMark)) {
    suffixes_.refuse("this is no part of a KMC database: it does not start with KMCS");
  }
  const std::uint64_t record_bytes = suffix_bytes_ + count_bytes_;
  const Key128 wanted = Key128{facts_.distinct} * record_bytes + 2 * kMarkBytes;
  if (bytes.size() != wanted || !has_mark(bytes, bytes.size() - kMarkBytes, kSuffixMark)) {
    suffixes_.refuse(
        fmt::format("it has {} bytes, and {} k-mers of {} bytes, of which {} speaks, do not make that; "
                    "it is cut off, or of another database",
                    bytes.size(), facts_.distinct, record_bytes, prefixes_.name()));
  }
}

std::uint64_t KmcSource::table_entry(std::uint64_t i) const {
  return load<std::uint64_t>(prefixes_.bytes().data() + kMarkBytes + 8 * i);
}

std::vector<KmcCursor> KmcSource::sorted_stretches(const KmerRange& range) const {
  const std::uint64_t entries = std::uint64_t{1} << (2 * prefix_bases_);
  const bool is_of_prefix = range.bases > prefix_bases_;
  const std::uint32_t shift = is_of_prefix ? 0 : 2 * (prefix_bases_ - range.bases);
  const std::uint64_t prefix =
      is_of_prefix ? range.prefix >> (2 * (range.bases - prefix_bases_)) : range.prefix;
  const std::uint64_t first = prefix << shift, end = (prefix + 1) << shift;
  std::vector<KmcCursor> stretches;
  for (std::uint64_t table = 0; table < table_size_; table += entries) {
    KmcCursor& stretch = stretches.emplace_back();
    stretch.next_entry = table + first;
    stretch.entry_end = table + end;
    stretch.next_record = stretch.prefix_end = table_entry(stretch.next_entry);
    stretch.record_end = stretch.entry_end < table_size_ ? table_entry(stretch.entry_end) : facts_.distinct;
    if (stretch.next_record > stretch.record_end || stretch.record_end > facts_.distinct)
      prefixes_.refuse("this KMC database is damaged: its bins are not in order");
    if (is_of_prefix) narrow(stretch, range);
  }
  return stretches;
}

/// Leaves those of a range in a stretch of one prefix.
void KmcSource::narrow(KmcCursor& stretch, const KmerRange& range) const {
  const std::uint64_t prefix = stretch.next_entry & ((std::uint64_t{1} << (2 * prefix_bases_)) - 1);
  const std::uint32_t shift = 2 * (facts_.k - range.bases);
  const std::uint64_t begin = stretch.next_record, end = stretch.record_end;
  const auto first_from = [&](std::uint64_t number) {
    std::uint64_t first = begin, behind = end;
    while (first < behind) {
      const std::uint64_t middle = first + (behind - first) / 2;
      if (kmer_of(prefix, middle) >> shift < number) {
        first = middle + 1;
      } else {
        behind = middle;
      }
    }
    return first;
  };
  // Both are searched for in all of the stretch: whatever its order, ranges side by side leave nothing out.
  stretch.record_end = first_from(range.prefix + 1);
  stretch.next_record = stretch.prefix_end = first_from(range.prefix);
  if (stretch.next_record > stretch.record_end) refuse_order();
}

Key128 KmcSource::kmer_of(std::uint64_t prefix, std::uint64_t record) const {
  const auto bytes = suffixes_.bytes();
  const std::uint64_t at = kMarkBytes + record * (suffix_bytes_ + count_bytes_);
  std::array<std::byte, kKmcDecodedBytes> copy{};
  std::memcpy(copy.data(), bytes.data() + at, std::min<std::uint64_t>(copy.size(), bytes.size() - at));
  CountedKmer kmer{};
  decode(prefix, copy.data(), {&kmer, 1});
  return kmer.kmer;
}

/// Moves on to the prefix of the next record. False at the end.
bool KmcSource::next_prefix(KmcCursor& cursor) const {
  if (cursor.next_record == cursor.record_end) return false;
  while (cursor.prefix_end == cursor.next_record) {
    if (cursor.next_entry == cursor.entry_end)
      prefixes_.refuse("this KMC database is damaged: its table ends too early");
    if (cursor.next_entry % (kReleaseBytes / 8) == 0)
      prefixes_.release(0, kMarkBytes + 8 * cursor.next_entry);
    cursor.prefix = cursor.next_entry++ & ((std::uint64_t{1} << (2 * prefix_bases_)) - 1);
    cursor.prefix_end =
        cursor.next_entry < cursor.entry_end ? table_entry(cursor.next_entry) : cursor.record_end;
    if (cursor.prefix_end < cursor.next_record || cursor.prefix_end > cursor.record_end)
      refuse_table(cursor.next_entry);
  }
  return true;
}

/// Decodes records of one prefix that follow one another. Up to kKmcDecodedBytes of each are looked at.
void KmcSource::decode(std::uint64_t prefix, const std::byte* record, std::span<CountedKmer> out) const {
  const auto big_endian = [](const std::byte* at) { return __builtin_bswap64(load<std::uint64_t>(at)); };
  const std::uint32_t suffix_bits = 8 * suffix_bytes_, record_bytes = suffix_bytes_ + count_bytes_;
  const CountReader count_of(count_bytes_);
  const std::byte* counts = record + suffix_bytes_;
  if (suffix_bits > 64) {
    const Key128 high = suffix_bits == 128 ? 0 : Key128{prefix} << suffix_bits;
    for (CountedKmer& each : out) {
      each.kmer = high | (Key128{big_endian(record)} << 64 | big_endian(record + 8)) >> (128 - suffix_bits);
      each.count = count_of(load<std::uint64_t>(counts));
      record += record_bytes;
      counts += record_bytes;
    }
    return;
  }
  const Key128 high = Key128{prefix} << suffix_bits;
  const std::uint32_t unused_bits = suffix_bits == 0 ? 0 : 64 - suffix_bits;
  const std::uint64_t suffix_mask = suffix_bits == 0 ? 0 : UINT64_MAX;
  for (CountedKmer& each : out) {
    each.kmer = high | ((big_endian(record) & suffix_mask) >> unused_bits);
    each.count = count_of(load<std::uint64_t>(counts));
    record += record_bytes;
    counts += record_bytes;
  }
}

std::size_t KmcSource::read(std::span<CountedKmer> out) {
  const std::size_t n = read(cursor_, out);
  for (const CountedKmer& each : out.first(n)) limit_.note(each.count);
  if (n == 0) {
    prefixes_.release(0, kMarkBytes + 8 * cursor_.next_entry);
    check_size();
  }
  return n;
}

/// Gives mapped pages back every so often. Which are done with is not known where several threads read: all
/// are given back, and come again where somebody still reads.
void KmcSource::note_read(std::uint64_t bytes) const {
  if (read_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes < release_bytes_) return;
  read_bytes_.store(0, std::memory_order_relaxed);
  check_size();
  suffixes_.release(0, suffixes_.bytes().size());
}

std::size_t KmcSource::read(KmcCursor& cursor, std::span<CountedKmer> out) const {
  const auto bytes = suffixes_.bytes();
  const std::uint64_t record_bytes = suffix_bytes_ + count_bytes_;
  std::uint64_t at = kMarkBytes + cursor.next_record * record_bytes;
  std::size_t n = 0;
  while (n < out.size() && next_prefix(cursor)) {
    const std::uint64_t last =
        std::min<std::uint64_t>(cursor.prefix_end, cursor.next_record + (out.size() - n));
    const auto some = out.subspan(n, last - cursor.next_record);
    const std::uint64_t end = at + some.size() * record_bytes;
    if (end + kKmcDecodedBytes <= bytes.size()) {
      decode(cursor.prefix, bytes.data() + at, some);
    } else {
      std::vector<std::byte> copy(end - at + kKmcDecodedBytes);
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), end - at, copy.begin());
      decode(cursor.prefix, copy.data(), some);
    }
    const auto zero = std::ranges::find(some, std::uint64_t{0}, &CountedKmer::count);
    if (zero != some.end()) refuse_zero(cursor.next_record + static_cast<std::uint64_t>(zero - some.begin()));
    cursor.next_record = last;
    n += some.size();
    at = end;
  }
  note_read(n * record_bytes);
  return n;
}

void KmcSource::check_table() const {
  std::uint64_t before = 0;
  for (std::uint64_t i = 0; i < table_size_; ++i) {
    const std::uint64_t first = table_entry(i);
    if (first < before || first > facts_.distinct) refuse_table(i);
    before = first;
  }
}

void KmcSource::refuse_table(std::uint64_t entry) const {
  prefixes_.refuse(fmt::format("this KMC database is damaged: at byte {} its table does not go on in order",
                               kMarkBytes + 8 * entry));
}

void KmcSource::read_counts(std::uint64_t first, std::span<std::uint64_t> out) const {
  const auto bytes = suffixes_.bytes();
  const std::uint64_t record_bytes = suffix_bytes_ + count_bytes_;
  const CountReader count_of(count_bytes_);
  std::uint64_t at = kMarkBytes + first * record_bytes + suffix_bytes_;
  std::uint64_t least = UINT64_MAX;
  for (std::uint64_t& count : out) {
    std::uint64_t word = 0;
    if (at + sizeof word <= bytes.size()) {
      word = load<std::uint64_t>(bytes.data() + at);
    } else {
      std::memcpy(&word, bytes.data() + at, count_bytes_);
    }
    count = count_of(word);
    least = std::min(least, count);
    at += record_bytes;
  }
  if (least == 0) refuse_zero(first + static_cast<std::uint64_t>(std::ranges::find(out, 0u) - out.begin()));
  note_read(out.size() * record_bytes);
}

void KmcSource::refuse_zero(std::uint64_t record) const {
  suffixes_.refuse(fmt::format("this KMC database is damaged: the record at byte {} has a count of 0",
                               kMarkBytes + record * (suffix_bytes_ + count_bytes_)));
}

KmcSink::KmcSink(const std::string& path, const StreamFacts& facts, std::uint32_t count_bytes)
    : prefix_path_(kmc_prefix(path)),
      facts_(facts),
      prefix_bases_(prefix_bases_for(facts.k, facts.distinct)),
      suffix_bytes_((facts.k - prefix_bases_) / 4),
      count_bytes_(count_bytes > 0 ? count_bytes
                   : facts.largest_count > 0
                       ? std::min(bytes_of_count(facts.largest_count), kMostKmcCountBytes)
                       : kMostKmcCountBytes),
      suffixes_(prefix_path_ + std::string(kSuffixFile)),
      prefixes_(prefix_path_ + std::string(kPrefixFile)),
      sizes_(std::size_t{1} << (2 * prefix_bases_)) {
  suffixes_.expect(2 * kMarkBytes + facts.distinct * (suffix_bytes_ + count_bytes_));
  prefixes_.expect(kMarkBytes + sizes_.size() * sizeof sizes_[0] + kSortedHeaderBytes + kTailBytes);
  suffixes_.write(kSuffixMark);
}

void KmcSink::encode(std::span<const CountedKmer> kmers, EncodedKmers& to) const {
  encode_suffixes(kmers, 0, suffix_bytes_, count_bytes_, to);
}

void KmcSink::append(const EncodedKmers& encoded) {
  suffixes_.write(encoded.bytes.text());
  for (const auto& [prefix, kmers] : encoded.runs) sizes_[prefix] += kmers;
  records_ += encoded.kmers;
}

void KmcSink::write_prefixes() {
  prefixes_.write(kPrefixMark);
  std::uint64_t first = 0;
  for (const std::uint64_t size : sizes_) {
    prefixes_.put(first);
    first += size;
  }
  std::string header;
  const auto u32 = [&header](std::uint64_t value) {
    const auto number = static_cast<std::uint32_t>(std::min<std::uint64_t>(value, UINT32_MAX));
    header.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  u32(facts_.k);
  u32(0);  // whole counts
  u32(count_bytes_);
  u32(prefix_bases_);
  // KMC's programs leave out what is not within these.
  u32(facts_.min_count);
  u32(facts_.max_count);
  header.append(reinterpret_cast<const char*>(&records_), sizeof records_);
  u32(facts_.canonical ? 0 : 1);
  u32(0);  // upper half of the largest count kept
  header.append(kSortedHeaderBytes - header.size() - 4, '\0');
  u32(kSorted);
  u32(kSortedHeaderBytes);
  prefixes_.write(header);
  prefixes_.write(kPrefixMark);
}

void KmcSink::finish() {
  suffixes_.write(kSuffixMark);
  write_prefixes();
  file::finish_together(std::array{&suffixes_, &prefixes_});  // one without the other is of no use
}

}  // namespace warpmer::formats
