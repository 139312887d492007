#include "formats/yak_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"

namespace warpmer::formats {
namespace {

static_assert(std::endian::native == std::endian::little,
              "numbers are read and written as they are in memory");

constexpr std::string_view kMark{"YAK\2", 4};
constexpr std::uint64_t kYakHeaderBytes = 16, kBinHeaderBytes = 8, kWordBytes = 8;
constexpr std::uint32_t kCountBits = 10;
/// yak itself has as many bins as fit into its memory; 2^28 empty ones are 2 GiB.
constexpr std::uint32_t kMostBinBits = 28;

/// Returns the capacity that yak's hash table has for so many k-mers: it is three quarters full at most.
std::uint32_t capacity_for(std::uint64_t kmers) {
  return kmers == 0 ? 0 : std::max(4u, std::bit_ceil(static_cast<std::uint32_t>(kmers + kmers / 3 + 1)));
}

}  // namespace

bool is_yak(std::string_view start) { return start.starts_with("YAK") && start.size() > 3 && start[3] < ' '; }

YakSource::YakSource(const std::string& path)
    : file_(path, kMark.size(), [](std::span<const std::byte> start, const std::string& name) {
        if (!is_yak({reinterpret_cast<const char*>(start.data()), start.size()}))
          throw InputError(fmt::format("{}: no counts of yak", name));
      }) {
  read_header();
  count_kmers();
  file_.will_need(0, file_.bytes().size());
}

void YakSource::read_header() {
  const auto bytes = file_.bytes();
  if (!is_yak({reinterpret_cast<const char*>(bytes.data()), bytes.size()})) file_.refuse("no counts of yak");
  if (bytes.size() < kYakHeaderBytes) file_.refuse("this file of yak is cut off in its header");
  if (std::memcmp(bytes.data(), kMark.data(), kMark.size()) != 0)
    file_.refuse("counts of a version of yak that warpmer does not know; count again with yak r80 or later");
  std::uint32_t header[3];
  std::memcpy(header, bytes.data() + kMark.size(), sizeof header);
  const auto [k, bin_bits, count_bits] = header;
  if (k < 1 || bin_bits < kCountBits || bin_bits > kMostBinBits || count_bits != kCountBits)
    file_.refuse("this file of yak is damaged, or has counts of another width: its header makes no sense");
  if (k > YakOrder<Key64>::kMostK) {
    file_.refuse(fmt::format("counts of {}-mers: of more than {} bases yak keeps no k-mers, but hashes", k,
                             YakOrder<Key64>::kMostK));
  }
  facts_.k = k;
  facts_.largest_count = kLargestYakCount;
  order_ = YakOrder<Key64>(k);
  bin_bits_ = bin_bits;
  limit_.set_limit(kLargestYakCount);
}

/// Goes from bin to bin, to the end.
void YakSource::count_kmers() {
  const auto bytes = file_.bytes();
  std::uint64_t at = kYakHeaderBytes;
  for (std::uint64_t bin = 0; bin < std::uint64_t{1} << bin_bits_; ++bin) {
    std::uint32_t kmers = 0;
    if (bytes.size() - at >= kBinHeaderBytes) std::memcpy(&kmers, bytes.data() + at + 4, sizeof kmers);
    if (bytes.size() - at < kBinHeaderBytes || (bytes.size() - at - kBinHeaderBytes) / kWordBytes < kmers) {
      file_.refuse(
          fmt::format("this file of yak is cut off or damaged: bin {} of {}, at byte {}, is not complete",
                      bin, std::uint64_t{1} << bin_bits_, at));
    }
    at += kBinHeaderBytes + kmers * kWordBytes;
    facts_.distinct += kmers;
  }
  if (at != bytes.size()) {
    file_.refuse(
        fmt::format("this file of yak is damaged: its last bin ends at byte {} of {}", at, bytes.size()));
  }
  at_ = kYakHeaderBytes;
}

/// Moves on to the bin of the next k-mer. False at the end.
bool YakSource::next_bin() {
  while (left_ == 0) {
    if (bin_ == std::uint64_t{1} << bin_bits_) return false;
    std::uint32_t kmers;
    std::memcpy(&kmers, file_.bytes().data() + at_ + 4, sizeof kmers);
    at_ += kBinHeaderBytes;
    left_ = kmers;
    ++bin_;
  }
  return true;
}

std::size_t YakSource::read(std::span<CountedKmer> out) {
  const std::uint64_t hashes = std::uint64_t{1} << (2 * facts_.k);
  std::size_t n = 0;
  for (; n < out.size() && next_bin(); --left_, at_ += kWordBytes) {
    std::uint64_t word;
    std::memcpy(&word, file_.bytes().data() + at_, sizeof word);
    const Key128 hash = Key128{word >> kCountBits} << bin_bits_ | (bin_ - 1);
    const Key64 kmer = order_.kmer_of(static_cast<std::uint64_t>(hash));
    if (hash >= hashes || canonical(kmer, facts_.k) != kmer) {
      file_.refuse(fmt::format("this file of yak is damaged: the word at byte {} is no canonical {}-mer", at_,
                               facts_.k));
    }
    out[n] = {kmer, word & kLargestYakCount};
    limit_.note(out[n].count);
    n += out[n].count != 0 ? 1 : 0;  // `yak recount` leaves k-mers that do not occur
  }
  release_read(file_, at_, released_);
  return n;
}

YakSink::YakSink(const std::string& path, const StreamFacts& facts) : output_(path), order_(facts.k) {
  if (!facts.canonical)
    throw UsageError(fmt::format("{}: yak's k-mers are canonical, and these are not", path));
  if (facts.k > YakOrder<Key64>::kMostK) {
    throw UsageError(fmt::format("{}: yak's files have k-mers of up to {} bases, and these have {}", path,
                                 YakOrder<Key64>::kMostK, facts.k));
  }
  output_.write(kMark);
  output_.put(facts.k);
  output_.put(YakOrder<Key64>::kBinBits);
  output_.put(kCountBits);
  output_.expect(kYakHeaderBytes + (kBinHeaderBytes << YakOrder<Key64>::kBinBits) +
                 facts.distinct * kWordBytes);
}

void YakSink::write_bins_before(std::uint64_t end) {
  for (; bin_ < end; ++bin_) {
    const std::size_t kmers = words_.size() / kWordBytes;
    output_.put(capacity_for(kmers));
    output_.put(static_cast<std::uint32_t>(kmers));
    output_.write(words_);
    words_.clear();
  }
}

void YakSink::encode(std::span<const CountedKmer> kmers, EncodedKmers& to) const {
  constexpr std::uint32_t kBinBits = YakOrder<Key64>::kBinBits;
  char* out = to.bytes.reserve(kmers.size() * kWordBytes);
  for (const CountedKmer& each : kmers) {
    const std::uint64_t hash = order_.hash_of(static_cast<std::uint64_t>(each.kmer));
    to.add_to_run(hash & ((std::uint64_t{1} << kBinBits) - 1));
    const std::uint64_t word = hash >> kBinBits << kCountBits | each.count;
    std::memcpy(out, &word, sizeof word);
    out += sizeof word;
  }
  to.bytes.commit(out);
  to.kmers += kmers.size();
}

void YakSink::append(const EncodedKmers& encoded) {
  std::string_view words = encoded.bytes.text();
  for (const auto& [bin, kmers] : encoded.runs) {
    if (bin < bin_) throw InternalError("k-mers for a file of yak came out of order");
    write_bins_before(bin);
    words_.append(words.substr(0, kmers * kWordBytes));
    words.remove_prefix(kmers * kWordBytes);
  }
}

void YakSink::finish() {
  write_bins_before(std::uint64_t{1} << YakOrder<Key64>::kBinBits);
  output_.finish();
}

}  // namespace warpmer::formats
