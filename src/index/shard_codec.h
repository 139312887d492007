#pragma once
/// Freezing a shard of entries, for k up to kMaxDenseK, and reading a frozen one: the payload described in
/// index/frozen_shard.h.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>

#include "index/frozen_shard.h"
#include "index/index_file.h"
#include "kmer/bit_stream.h"
#include "kmer/kmer.h"
#include "kmer/platform.h"

namespace warpmer::index {

/// Entries per bucket aimed at: between half of this and all of it.
inline constexpr std::uint64_t kBucketEntries = 8;

/// ceil(log2(entries / kBucketEntries)), within [0, 2k].
constexpr std::uint32_t bucket_bits_for(std::uint64_t entries, std::uint32_t k) {
  if (entries <= kBucketEntries) return 0;
  const auto bits =
      static_cast<std::uint32_t>(std::bit_width((entries + kBucketEntries - 1) / kBucketEntries - 1));
  return std::min(bits, 2 * k);
}

/// The places where the parts of a payload begin, in words.
struct PayloadLayout {
  std::uint32_t offset_bits;  ///< width of a bucket offset; 0: there are none
  std::uint32_t rest_bits;    ///< width of the hash, in an entry
  std::uint32_t entry_bits;
  std::uint32_t exception_bits;  ///< width of an exception: entry number and count
  std::uint32_t number_bits;     ///< width of the entry number in it
  std::size_t entries_at;
  std::size_t exceptions_at;
  std::size_t words;
};

inline PayloadLayout payload_layout(const ShardShape& shape, std::uint32_t k) {
  PayloadLayout layout{};
  if (shape.entries == 0) return layout;
  layout.offset_bits = shape.bucket_bits == 0 ? 0 : static_cast<std::uint32_t>(std::bit_width(shape.entries));
  layout.rest_bits = 2 * k - shape.bucket_bits;
  layout.entry_bits = layout.rest_bits + shape.count_bits;
  layout.number_bits = static_cast<std::uint32_t>(std::bit_width(shape.entries - 1));
  layout.exception_bits = layout.number_bits + shape.exception_bits;
  layout.entries_at = layout.offset_bits == 0
                          ? 0
                          : words_for((std::uint64_t{1} << shape.bucket_bits) + 1, layout.offset_bits);
  layout.exceptions_at = layout.entries_at + words_for(shape.entries, layout.entry_bits);
  layout.words = layout.exceptions_at + words_for(shape.exceptions, layout.exception_bits);
  return layout;
}

/// Number of counts that need so many bits, for each number of bits.
using CountWidths = std::array<std::uint64_t, 65>;

/// Returns the shape of a shard of `entries` entries, of whose counts `of_width[b]` need exactly b bits.
/// Chooses the width of the count code that makes the payload smallest; the least of equals.
inline ShardShape choose_shape(std::uint64_t entries, const CountWidths& of_width, std::uint32_t k) {
  ShardShape shape;
  if (entries == 0) return shape;
  shape.entries = entries;
  shape.bucket_bits = static_cast<std::uint8_t>(bucket_bits_for(entries, k));
  CountWidths wider{};  // wider[b]: counts of more than b bits
  for (std::size_t b = wider.size() - 1; b-- > 0;) wider[b] = wider[b + 1] + of_width[b + 1];
  while (wider[shape.exception_bits] > 0) ++shape.exception_bits;  // those of the largest count
  const std::uint64_t exception_bits = std::bit_width(entries - 1) + shape.exception_bits;
  Key128 best = ~Key128{0};
  // A code of b bits holds counts below 2^b, the all-ones code excepted.
  for (std::uint32_t bits = 1; bits <= 32; ++bits) {
    const Key128 size = Key128{entries} * bits + Key128{wider[bits]} * exception_bits;
    if (size < best) {
      best = size;
      shape.count_bits = static_cast<std::uint8_t>(bits);
      shape.exceptions = wider[bits];
    }
  }
  if (shape.exceptions == 0) shape.exception_bits = 0;
  return shape;
}

/// Writes a payload to an output iterator, word after word. `each(visit)` calls `visit(hash, count)` for all
/// entries, in increasing order of their hashes, counts at least 1; it is called once for each of the
/// payload's parts, so that the entries need not be held.
template <class Words, class Each>
void pack_payload(const ShardShape& shape, std::uint32_t k, Words words, Each&& each) {
  const PayloadLayout layout = payload_layout(shape, k);
  BitWriter<Words> out(words);
  if (layout.offset_bits > 0) {
    std::size_t bucket = 0;  // the first whose offset is not written
    std::uint64_t before = 0;
    each([&](Key64 hash, std::uint64_t /*count*/) {
      for (; bucket <= static_cast<std::size_t>(hash >> layout.rest_bits); ++bucket)
        out.write(before, layout.offset_bits);
      ++before;
    });
    for (; bucket <= std::size_t{1} << shape.bucket_bits; ++bucket) out.write(before, layout.offset_bits);
    out.flush();
  }
  const std::uint64_t escape = (std::uint64_t{1} << shape.count_bits) - 1;
  const Key64 rest_mask = (Key64{1} << layout.rest_bits) - 1;
  each([&](Key64 hash, std::uint64_t count) {
    out.write(((hash & rest_mask) << shape.count_bits) | std::min(count - 1, escape), layout.entry_bits);
  });
  out.flush();
  if (shape.exceptions == 0) return;
  std::uint64_t number = 0;
  each([&](Key64 /*hash*/, std::uint64_t count) {
    if (count > escape)
      out.write_wide((Key128{number} << shape.exception_bits) | count, layout.exception_bits);
    ++number;
  });
  out.flush();
}

/// Packs `n` entries given in increasing order of their hashes, counts at least 1.
inline FrozenShard freeze(const Key64* hashes, const std::uint64_t* counts, std::size_t n, std::uint32_t k) {
  FrozenShard frozen;
  if (n == 0) return frozen;
  CountWidths widths{};
  for (std::size_t i = 0; i < n; ++i) ++widths[std::bit_width(counts[i])];
  frozen.shape = choose_shape(n, widths, k);
  const std::size_t words = payload_layout(frozen.shape, k).words;
  frozen.payload.reserve(words + kReadAheadWords);  // readers may look, not step, past the end
  frozen.payload.resize(words);
  pack_payload(frozen.shape, k, frozen.payload.data(), [&](auto&& visit) {
    for (std::size_t i = 0; i < n; ++i) visit(hashes[i], counts[i]);
  });
  return frozen;
}

/// Returns the words of a payload, in memory or to be had of its source.
inline std::uint64_t payload_words(const FrozenShard& frozen, std::uint32_t k) {
  if (!frozen.source) return frozen.payload.size();
  return frozen.has_strings() ? frozen.sizes.words : payload_layout(frozen.shape, k).words;
}

/// Reads a frozen shard where it lies. It does so on a GPU, too: the host makes it of a view whose payload is
/// on the device, and copies it there; then `find` and walking a bucket work on the device, and nothing
/// else of it.
class ShardReader {
 public:
  ShardReader(const ShardView& view, std::uint32_t k)
      : shape_(view.shape),
        layout_(payload_layout(view.shape, k)),
        key_bits_(2 * k),
        offsets_(view.payload),
        entries_(view.payload + layout_.entries_at),
        exceptions_(view.payload + layout_.exceptions_at),
        escape_((std::uint64_t{1} << view.shape.count_bits) - 1) {}

  [[nodiscard]] WARPMER_HD_INLINE std::uint64_t entries() const { return shape_.entries; }

  /// Returns the number of the entry with this hash; `entries()` when it is not there.
  [[nodiscard]] WARPMER_HD_INLINE std::uint64_t entry_of(Key64 hash) const {
    if (shape_.entries == 0) return 0;
    const auto [first, last] = bucket(bucket_of(hash));
    const Key64 rest = hash & rest_mask();
    for (std::uint64_t i = first; i < last; ++i) {
      const Key64 here = rest_at(i);
      if (here == rest) return i;
      if (here > rest) break;
    }
    return shape_.entries;
  }

  /// Returns the stored count of the k-mer with this hash; 0 when it is not there.
  [[nodiscard]] WARPMER_HD_INLINE std::uint64_t find(Key64 hash) const {
    const std::uint64_t entry = entry_of(hash);
    return entry < shape_.entries ? count_at(entry) : 0;
  }

  /// Asks the processor for the lines a `find` of this hash will start with.
  void prefetch(Key64 hash) const {
    if (shape_.bucket_bits == 0) return;
    const std::size_t b = bucket_of(hash);
    __builtin_prefetch(reinterpret_cast<const char*>(offsets_) + b * layout_.offset_bits / 8);
    // A bucket lies near where it would if all were equally full.
    const Key128 guess = (Key128{shape_.entries} * b) >> shape_.bucket_bits;
    __builtin_prefetch(reinterpret_cast<const char*>(entries_) +
                       static_cast<std::size_t>(guess * layout_.entry_bits / 8));
  }

  /// Calls `visit(hash, count)` for every entry with a hash in part `part` of 2^part_bits (at most 2k) equal
  /// parts of all hashes, in increasing order of the hashes. False, perhaps before it has visited all of
  /// them, when hashes do not rise, an entry has no count, or a large count no entry: checksums do not tell,
  /// where a wrong program wrote the file.
  template <class Visit>
  [[nodiscard]] bool for_each_in_part(std::uint64_t part, std::uint32_t part_bits, Visit&& visit) const {
    const auto [first_bucket, last_bucket] = buckets_of(part, part_bits);
    const auto [first, last] = entries_of(part, part_bits);
    const std::uint32_t part_shift = key_bits_ - part_bits;
    std::size_t b = first_bucket;
    std::uint64_t exception = first_exception(first), least = 0;
    std::uint64_t bucket_end = bucket(b).second;
    for (std::uint64_t i = first; i < last; ++i) {
      while (i >= bucket_end && b + 1 < last_bucket) bucket_end = bucket(++b).second;
      const Key64 hash = hash_at(b, i);
      const std::uint64_t code = code_at(i);
      if (code == escape_ && !(exception < shape_.exceptions && exception_number(exception) == i))
        return false;
      const std::uint64_t count = code < escape_ ? code + 1 : exception_count(exception++);
      if (hash < least || count == 0) return false;
      least = hash + 1;
      if (hash >> part_shift == part) visit(hash, count);
    }
    return exception == first_exception(last);
  }
  /// Returns the number of entries in a part, or a few more.
  [[nodiscard]] std::uint64_t most_in_part(std::uint64_t part, std::uint32_t part_bits) const {
    const auto [first, last] = entries_of(part, part_bits);
    return last - first;
  }

  /// Returns the bucket that a hash is in, if it is there.
  [[nodiscard]] WARPMER_HD_INLINE std::size_t bucket_of(Key64 hash) const {
    return shape_.bucket_bits == 0 ? 0 : static_cast<std::size_t>(hash >> layout_.rest_bits);
  }
  /// Returns the places where a bucket's entries begin and end, clamped, so that a wrong payload (its
  /// checksum right) cannot lead outside.
  [[nodiscard]] WARPMER_HD_INLINE std::pair<std::uint64_t, std::uint64_t> bucket(std::size_t b) const {
    if (shape_.bucket_bits == 0) return {0, shape_.entries};
    const std::uint64_t at = std::uint64_t{b} * layout_.offset_bits;
    return {std::min(read_bits<std::uint64_t>(offsets_, at, layout_.offset_bits), shape_.entries),
            std::min(read_bits<std::uint64_t>(offsets_, at + layout_.offset_bits, layout_.offset_bits),
                     shape_.entries)};
  }
  /// Returns the hash of entry `i`, which lies in bucket `b`.
  [[nodiscard]] WARPMER_HD_INLINE Key64 hash_at(std::size_t b, std::uint64_t i) const {
    return (Key64{b} << layout_.rest_bits) | rest_at(i);
  }
  [[nodiscard]] WARPMER_HD_INLINE std::uint64_t count_at(std::uint64_t i) const {
    const std::uint64_t code = code_at(i);
    return code < escape_ ? code + 1 : exception_count(first_exception(i));
  }

 private:
  /// Returns the buckets that hold a part, from the first up to, not including, the last: a whole number of
  /// them, or the one that the part is in.
  [[nodiscard]] std::pair<std::size_t, std::size_t> buckets_of(std::uint64_t part,
                                                               std::uint32_t part_bits) const {
    if (part_bits > shape_.bucket_bits) {
      const std::size_t bucket = part >> (part_bits - shape_.bucket_bits);
      return {bucket, bucket + 1};
    }
    const std::uint32_t shift = shape_.bucket_bits - part_bits;
    return {part << shift, (part + 1) << shift};
  }
  /// Returns the places where the entries of these buckets begin and end.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> entries_of(std::uint64_t part,
                                                                   std::uint32_t part_bits) const {
    if (shape_.entries == 0) return {0, 0};
    const auto [first_bucket, last_bucket] = buckets_of(part, part_bits);
    const std::uint64_t first = bucket(first_bucket).first;
    return {first, std::max(first, bucket(last_bucket - 1).second)};
  }
  /// Returns the first exception of entry `i` or a later one.
  [[nodiscard]] WARPMER_HD_INLINE std::uint64_t first_exception(std::uint64_t i) const {
    std::uint64_t low = 0, high = shape_.exceptions;
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (exception_number(middle) < i) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
  [[nodiscard]] WARPMER_HD_INLINE Key64 rest_mask() const { return (Key64{1} << layout_.rest_bits) - 1; }
  [[nodiscard]] WARPMER_HD_INLINE Key64 rest_at(std::uint64_t i) const {
    return read_bits<Key64>(entries_, i * layout_.entry_bits + shape_.count_bits, layout_.rest_bits);
  }
  [[nodiscard]] WARPMER_HD_INLINE std::uint64_t code_at(std::uint64_t i) const {
    return read_bits<std::uint64_t>(entries_, i * layout_.entry_bits, shape_.count_bits);
  }
  [[nodiscard]] WARPMER_HD_INLINE std::uint64_t exception_count(std::uint64_t x) const {
    if (x >= shape_.exceptions) return 0;
    return read_bits<std::uint64_t>(exceptions_, x * layout_.exception_bits, shape_.exception_bits);
  }
  [[nodiscard]] WARPMER_HD_INLINE std::uint64_t exception_number(std::uint64_t x) const {
    return read_bits<std::uint64_t>(exceptions_, x * layout_.exception_bits + shape_.exception_bits,
                                    layout_.number_bits);
  }

  ShardShape shape_;
  PayloadLayout layout_;
  std::uint32_t key_bits_;
  const std::uint64_t* offsets_;
  const std::uint64_t* entries_;
  const std::uint64_t* exceptions_;
  std::uint64_t escape_;
};

/// Calls `visit(hash, count)` for every entry of a part of a shard (`reader` reads it), as
/// ShardReader::for_each_in_part does. InputError for a shard that is damaged.
template <class Visit>
void for_each_entry_in_part(const IndexFile& index, std::uint32_t shard, const ShardReader& reader,
                            std::uint64_t part, std::uint32_t part_bits, const Visit& visit) {
  if (!reader.for_each_in_part(part, part_bits, visit)) {
    refuse_damaged(index,
                   "in shard " + std::to_string(shard) + ", entries are out of order or without a count");
  }
}

/// Does the same for all of a shard.
template <class Visit>
void for_each_entry(const IndexFile& index, std::uint32_t shard, const Visit& visit) {
  for_each_entry_in_part(index, shard, ShardReader(index.shard(shard), index.params().k), 0, 0, visit);
}

}  // namespace warpmer::index
