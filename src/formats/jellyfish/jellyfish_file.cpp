#include "formats/jellyfish/jellyfish_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "formats/jellyfish/jellyfish_order.h"
#include "formats/stream/count_width.h"

namespace warpmer::formats {
namespace {

static_assert(std::endian::native == std::endian::little,
              "keys and counts are read and written as they are in memory");

constexpr std::uint32_t kDefaultCountBytes = 4;

/// Bytes that a record is decoded from: a whole key, and a whole word of count behind it.
constexpr std::uint64_t kJellyfishDecodedBytes = 24;

}  // namespace

std::unique_ptr<file::MappedInput> map_jellyfish(const std::string& path) {
  return std::make_unique<file::MappedInput>(path, kJellyfishMarkBytes, check_is_jellyfish);
}

JellyfishSource::JellyfishSource(const std::string& path, JellyfishZeros zeros)
    : JellyfishSource(map_jellyfish(path), zeros) {}

JellyfishSource::JellyfishSource(std::unique_ptr<file::MappedInput> file, JellyfishZeros zeros)
    : file_(std::move(file)), keeps_zeros_(zeros == JellyfishZeros::keep) {
  read_header();
  file_->will_need(at_, file_->bytes().size() - at_);
}

void JellyfishSource::read_header() {
  const JellyfishHeader header = read_jellyfish_header(*file_, kJellyfishBinary);
  facts_ = header.facts;
  count_bytes_ = header.count_bytes;
  facts_.largest_count = largest_of_bytes(count_bytes_);
  limit_.set(count_bytes_, facts_.max_count);
  key_bytes_ = (2 * facts_.k + 7) / 8;
  at_ = header.bytes;
  const std::uint64_t size = file_->bytes().size();
  if (const std::uint64_t rest = (size - at_) % (key_bytes_ + count_bytes_); rest != 0) {
    file_->refuse(
        fmt::format("this Jellyfish database is cut off or damaged: the record at byte {} has {} bytes of {}",
                    size - rest, rest, key_bytes_ + count_bytes_));
  }
}

std::size_t JellyfishSource::read(std::span<CountedKmer> out) {
  const std::size_t n = with_key_type(facts_.k, [&]<class Key>(Key) { return decode<Key>(out); });
  release_read(*file_, at_, released_);
  return n;
}

template <class Key>
std::size_t JellyfishSource::decode(std::span<CountedKmer> out) {
  const std::span<const std::byte> bytes = file_->bytes();
  const std::uint32_t record_bytes = key_bytes_ + count_bytes_;
  const Key no_base = ~key_mask<Key>(facts_.k);
  // Bits that are read with a k-mer and are not the k-mer's.
  const Key beyond = ~key_mask<Key>(4 * key_bytes_);
  std::byte last[kJellyfishDecodedBytes + sizeof(std::uint64_t)] = {};
  std::size_t n = 0;
  for (; n < out.size() && at_ < bytes.size(); at_ += record_bytes) {
    const std::byte* record = bytes.data() + at_;
    if (bytes.size() - at_ < kJellyfishDecodedBytes) {  // a whole one would reach beyond the file
      std::memcpy(last, record, record_bytes);
      record = last;
    }
    Key kmer;
    std::memcpy(&kmer, record, sizeof kmer);
    kmer &= ~beyond;
    std::uint64_t count;
    std::memcpy(&count, record + key_bytes_, sizeof count);
    if ((kmer & no_base) != 0 || (facts_.canonical && canonical(kmer, facts_.k) != kmer)) {
      file_->refuse(fmt::format("this Jellyfish database is damaged: the record at byte {} is no {}{}-mer",
                                at_, facts_.canonical ? "canonical " : "", facts_.k));
    }
    out[n] = {kmer, count & facts_.largest_count};
    if (out[n].count == 0 && count_bytes_ == kMostJellyfishCountBytes && !keeps_zeros_) {
      file_->refuse(
          fmt::format("a count of 0 at byte {}: Jellyfish loses all counts of 8 bytes; count again, with "
                      "--out-counter-len 4",
                      at_ + key_bytes_));
    }
    limit_.note(out[n].count);
    n += out[n].count != 0 || keeps_zeros_ ? 1 : 0;
  }
  return n;
}

JellyfishSink::JellyfishSink(const std::string& path, const StreamFacts& facts, std::uint32_t count_bytes,
                             const JellyfishCall& made_by, std::uint32_t position_bits)
    : output_(path),
      facts_(facts),
      key_bytes_((2 * facts.k + 7) / 8),
      count_bytes_(count_bytes != 0 ? count_bytes
                                    : std::clamp(bytes_of_count(facts.largest_count), kDefaultCountBytes,
                                                 bytes_of_count(kLargestJellyfishCount))),
      position_bits_(position_bits != 0 ? position_bits : jellyfish_position_bits(facts.k, facts.distinct)) {
  if (largest_of_bytes(count_bytes_) > kLargestJellyfishCount) {
    throw UsageError(fmt::format("{}: Jellyfish cannot merge counts of {} bytes; choose 1 to {}", path,
                                 count_bytes_, bytes_of_count(kLargestJellyfishCount)));
  }
  write_header(made_by);
}

void JellyfishSink::write_header(const JellyfishCall& made_by) {
  output_.write(jellyfish_header(facts_, position_bits_, count_bytes_, kJellyfishBinary, made_by));
  output_.expect(output_.bytes_written() + facts_.distinct * (key_bytes_ + count_bytes_));
}

void JellyfishSink::encode(std::span<const CountedKmer> kmers, EncodedKmers& to) const {
  check_counts(kmers, facts_.k, count_bytes_);
  with_key_type(facts_.k, [&]<class Key>(Key) {
    const JellyfishOrder<Key> order(facts_.k, position_bits_);
    for (const CountedKmer& each : kmers)
      note_place(order.rank(static_cast<Key>(each.kmer)), to, "a Jellyfish database");
  });
  char* out = to.bytes.reserve(kmers.size() * (key_bytes_ + count_bytes_) + kJellyfishDecodedBytes);
  for (const CountedKmer& each : kmers) {
    // Whole words are written, and what is too much of them written over.
    std::memcpy(out, &each.kmer, sizeof each.kmer);
    out += key_bytes_;
    std::memcpy(out, &each.count, sizeof each.count);
    out += count_bytes_;
  }
  to.bytes.commit(out);
}

void JellyfishSink::append(const EncodedKmers& encoded) {
  end_.note(encoded, "a Jellyfish database");
  output_.write(encoded.bytes.text());
}

}  // namespace warpmer::formats
