#include "formats/kmc_database.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "file/output/output_group.h"
#include "formats/stream/count_width.h"

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
    : prefixes_(kmc_prefix(path).append(kPrefixFile), 0, [](auto, const auto&) {}),
      suffixes_(kmc_prefix(path).append(kSuffixFile), 0, [](auto, const auto&) {}) {
  read_header();
  check_suffixes();
  suffixes_.will_need(0, suffixes_.bytes().size());
}

void KmcSource::refuse(const file::MappedInput& file, const std::string& what) const {
  throw InputError(fmt::format("{}: {}", file.name(), what));
}

void KmcSource::read_header() {
  const auto bytes = prefixes_.bytes();
  const std::uint64_t size = bytes.size();
  if (size < kMarkBytes || !has_mark(bytes, 0, kPrefixMark)) {
    refuse(prefixes_, "this is no KMC database: it does not start with KMCP");
  }
  if (size < kMarkBytes + kSortedHeaderBytes + kTailBytes ||
      !has_mark(bytes, size - kMarkBytes, kPrefixMark)) {
    refuse(prefixes_, "this KMC database is cut off: it does not end with KMCP; make it again");
  }
  const std::byte* const end = bytes.data() + size - kTailBytes;
  const auto header_bytes = load<std::uint32_t>(end);
  const auto version = load<std::uint32_t>(end - 4);
  const bool is_binned = version == kBinned;
  if ((version != kSorted && !is_binned) ||
      header_bytes != (is_binned ? kBinnedHeaderBytes : kSortedHeaderBytes)) {
    refuse(prefixes_, fmt::format("a KMC database of version {:#x}, which warpmer does not know", version));
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
  if (mode != 0) refuse(prefixes_, "its counts are sums of qualities (kmc -q), no whole numbers");
  if (facts_.k < 1 || facts_.k > kMaxK) {
    refuse(prefixes_, fmt::format("k-mers of {} bases; warpmer's have 1 to {}", facts_.k, kMaxK));
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
    refuse(prefixes_, "this KMC database is damaged: its header does not fit its size");
  }
  if (facts_.k < kMaxNarrowK && facts_.distinct > std::uint64_t{1} << (2 * facts_.k)) {
    refuse(prefixes_,
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
}

void KmcSource::check_suffixes() const {
  const auto bytes = suffixes_.bytes();
  if (bytes.size() < kMarkBytes || !has_mark(bytes, 0, kSuffixMark)) {
    refuse(suffixes_, "this is no part of a KMC database: it does not start with KMCS");
  }
  const std::uint64_t record_bytes = suffix_bytes_ + count_bytes_;
  const Key128 wanted = Key128{facts_.distinct} * record_bytes + 2 * kMarkBytes;
  if (bytes.size() != wanted || !has_mark(bytes, bytes.size() - kMarkBytes, kSuffixMark)) {
    refuse(suffixes_,
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
  const std::uint32_t shift = 2 * (prefix_bases_ - range.bases);
  std::vector<KmcCursor> stretches;
  for (std::uint64_t table = 0; table < table_size_; table += entries) {
    KmcCursor& stretch = stretches.emplace_back();
    stretch.next_entry = table + (range.first << shift);
    stretch.entry_end = table + (range.end << shift);
    stretch.next_record = stretch.prefix_end = table_entry(stretch.next_entry);
    stretch.record_end = stretch.entry_end < table_size_ ? table_entry(stretch.entry_end) : facts_.distinct;
    stretch.released = kMarkBytes + stretch.next_record * (suffix_bytes_ + count_bytes_);
    if (stretch.next_record > stretch.record_end || stretch.record_end > facts_.distinct)
      refuse(prefixes_, "this KMC database is damaged: its bins are not in order");
  }
  return stretches;
}

/// Moves on to the prefix of the next record. False at the end.
bool KmcSource::next_prefix(KmcCursor& cursor) const {
  if (cursor.next_record == cursor.record_end) return false;
  while (cursor.prefix_end == cursor.next_record) {
    if (cursor.next_entry == cursor.entry_end)
      refuse(prefixes_, "this KMC database is damaged: its table ends too early");
    if (cursor.next_entry % (kReleaseBytes / 8) == 0)
      prefixes_.release(0, kMarkBytes + 8 * cursor.next_entry);
    cursor.prefix = cursor.next_entry++ & ((std::uint64_t{1} << (2 * prefix_bases_)) - 1);
    cursor.prefix_end =
        cursor.next_entry < cursor.entry_end ? table_entry(cursor.next_entry) : cursor.record_end;
    if (cursor.prefix_end < cursor.next_record || cursor.prefix_end > cursor.record_end) {
      refuse(prefixes_,
             fmt::format("this KMC database is damaged: at byte {} its table does not go on in order",
                         kMarkBytes + 8 * cursor.next_entry));
    }
  }
  return true;
}

/// Decodes records of one prefix that follow one another. Up to kKmcDecodedBytes of each are looked at.
void KmcSource::decode(std::uint64_t prefix, const std::byte* record, std::span<CountedKmer> out) const {
  const auto big_endian = [](const std::byte* at) { return __builtin_bswap64(load<std::uint64_t>(at)); };
  const std::uint32_t suffix_bits = 8 * suffix_bytes_, record_bytes = suffix_bytes_ + count_bytes_;
  const std::uint64_t count_mask = count_bytes_ == 0 ? 0 : largest_of_bytes(count_bytes_);
  const std::uint64_t no_count = count_bytes_ == 0 ? 1 : 0;
  const std::byte* counts = record + suffix_bytes_;
  if (suffix_bits > 64) {
    const Key128 high = suffix_bits == 128 ? 0 : Key128{prefix} << suffix_bits;
    for (CountedKmer& each : out) {
      each.kmer = high | (Key128{big_endian(record)} << 64 | big_endian(record + 8)) >> (128 - suffix_bits);
      each.count = (load<std::uint64_t>(counts) & count_mask) | no_count;
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
    each.count = (load<std::uint64_t>(counts) & count_mask) | no_count;
    record += record_bytes;
    counts += record_bytes;
  }
}

std::size_t KmcSource::read(std::span<CountedKmer> out) {
  const std::size_t n = read(cursor_, out, kReleaseBytes);
  for (const CountedKmer& each : out.first(n)) limit_.note(each.count);
  if (n == 0) prefixes_.release(0, kMarkBytes + 8 * cursor_.next_entry);
  return n;
}

std::size_t KmcSource::read(KmcCursor& cursor, std::span<CountedKmer> out,
                            std::uint64_t release_bytes) const {
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
    if (zero != some.end()) {
      refuse(suffixes_, fmt::format("this KMC database is damaged: the record at byte {} has a count of 0",
                                    at + static_cast<std::uint64_t>(zero - some.begin()) * record_bytes));
    }
    cursor.next_record = last;
    n += some.size();
    at = end;
  }
  const bool is_end = cursor.next_record == cursor.record_end && at > cursor.released;
  if (is_end || at - cursor.released >= release_bytes) {
    suffixes_.check_size();
    suffixes_.release(cursor.released, at - cursor.released);
    cursor.released = at;
  }
  return n;
}

KmcRangeSource::KmcRangeSource(std::shared_ptr<const KmcSource> database, const KmerRange& range,
                               KmerOrder order)
    : database_(std::move(database)) {
  constexpr std::uint64_t kKmersAtOnce = 512;
  for (const KmcCursor& cursor : database_->sorted_stretches(range)) {
    if (cursor.next_record < cursor.record_end) stretches_.push_back({cursor, {}, 0, 0});
  }
  is_merged_ = order == KmerOrder::by_kmer && stretches_.size() > 1;
  if (!is_merged_) return;
  for (KmcStretch& stretch : stretches_) {
    stretch.kmers.resize(std::min(stretch.cursor.record_end - stretch.cursor.next_record, kKmersAtOnce));
    refill(stretch);
    heap_.emplace_back(stretch.kmers.front().kmer, static_cast<std::uint32_t>(heap_.size()));
  }
  std::ranges::sort(heap_);
}

/// False at its end.
bool KmcRangeSource::refill(KmcStretch& stretch) {
  const std::uint64_t release_bytes = kReleaseBytes / std::min<std::size_t>(stretches_.size(), 64);
  stretch.next = 0;
  stretch.end = database_->read(stretch.cursor, stretch.kmers, release_bytes);
  return stretch.end > 0;
}

/// The first of the heap has become larger: moves it to its place.
void KmcRangeSource::sink_first() {
  const auto moved = heap_.front();
  std::size_t hole = 0;
  for (std::size_t child = 1; child < heap_.size(); child = 2 * hole + 1) {
    if (child + 1 < heap_.size() && heap_[child + 1].first < heap_[child].first) ++child;
    if (!(heap_[child].first < moved.first)) break;
    heap_[hole] = heap_[child];
    hole = child;
  }
  heap_[hole] = moved;
}

std::size_t KmcRangeSource::read(std::span<CountedKmer> out) {
  if (is_merged_) return read_merged(out);
  std::size_t n = 0;
  while (n == 0 && stretch_ < stretches_.size()) {
    n = database_->read(stretches_[stretch_].cursor, out, kReleaseBytes);
    stretch_ += n == 0 ? 1 : 0;
  }
  return n;
}

std::size_t KmcRangeSource::read_merged(std::span<CountedKmer> out) {
  std::size_t n = 0;
  while (n < out.size() && !heap_.empty()) {
    KmcStretch& stretch = stretches_[heap_.front().second];
    out[n++] = stretch.kmers[stretch.next++];
    if (stretch.next < stretch.end || refill(stretch)) {
      heap_.front().first = stretch.kmers[stretch.next].kmer;
    } else {
      heap_.front() = heap_.back();
      heap_.pop_back();
    }
    if (!heap_.empty()) sink_first();
  }
  return n;
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
  const std::uint32_t suffix_bits = 8 * suffix_bytes_;
  char* out = to.bytes.reserve(kmers.size() * (suffix_bytes_ + count_bytes_) + kKmcDecodedBytes);
  for (const CountedKmer& each : kmers) {
    to.add_to_run(static_cast<std::uint64_t>(suffix_bits == 128 ? 0 : each.kmer >> suffix_bits));
    // Whole words are written, and what is too much of them written over.
    const Key128 suffix = suffix_bits == 0 ? 0 : each.kmer << (128 - suffix_bits);
    const std::uint64_t words[] = {__builtin_bswap64(static_cast<std::uint64_t>(suffix >> 64)),
                                   __builtin_bswap64(static_cast<std::uint64_t>(suffix))};
    std::memcpy(out, words, sizeof words);
    out += suffix_bytes_;
    std::memcpy(out, &each.count, sizeof each.count);
    out += count_bytes_;
  }
  to.bytes.commit(out);
  to.kmers += kmers.size();
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
    std::memcpy(prefixes_.reserve(sizeof first), &first, sizeof first);
    prefixes_.commit(sizeof first);
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
  // One file without the other is of no use.
  suffixes_.complete();
  prefixes_.complete();
  file::OutputGroup both;
  suffixes_.finish();
  prefixes_.finish();
  both.name_all();
}

}  // namespace warpmer::formats
