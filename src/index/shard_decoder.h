#pragma once
/// A frozen shard, or a part of it, unpacked into arrays: what is done with all entries, in order, is done
/// sooner with arrays than with a visitor.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "index/shard_codec.h"
#include "kmer/bit_stream.h"
#include "kmer/kmer.h"

namespace warpmer::index {

/// The arrays that unpacked entries go to: each has room for as many as `ShardDecoder::room` says.
template <class Key>
struct EntryArrays {
  Key* hashes;
  std::uint64_t* counts;
};

/// Entries [begin, end) of the arrays are those asked for.
struct DecodedRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool is_sound = true;  ///< hashes strictly rise, and every large count has its entry, and is none of 0
};

/// Unpacks ranges of hashes. The view's payload must have passed `IndexFile::shard`'s checks.
template <class Key>
class ShardDecoder {
 public:
  ShardDecoder(const ShardView& view, std::uint32_t k)
      : shape_(view.shape),
        layout_(payload_layout(view.shape, k)),
        key_bits_(2 * k),
        offsets_(view.payload),
        entries_(view.payload + layout_.entries_at),
        exceptions_(view.payload + layout_.exceptions_at),
        escape_(low_bits(view.shape.count_bits)) {}

  /// More than there are, that `room` may ask for.
  static constexpr std::size_t kSpareEntries = 16;

  /// Returns the number of entries to have room for when part `part` of 2^part_bits equal parts of all hashes
  /// is decoded.
  [[nodiscard]] std::size_t room(std::uint64_t part, std::uint32_t part_bits) const {
    const EntrySpan span = entries_of(buckets_of(part, part_bits));
    return static_cast<std::size_t>(span.last - span.first) + kSpareEntries;
  }

  /// Unpacks the entries with a hash in part `part` of 2^part_bits (at most 2k) equal parts of all hashes.
  DecodedRange decode(std::uint64_t part, std::uint32_t part_bits, const EntryArrays<Key>& out) const {
    const EntrySpan buckets = buckets_of(part, part_bits);
    const EntrySpan span = entries_of(buckets);
    DecodedRange range{0, static_cast<std::size_t>(span.last - span.first), true};
    if (range.end == 0) return range;
    write_tops(buckets, span, out.hashes);
    range.is_sound = unpack(span, out) && patch_large_counts(span, out.counts);
    if (part_bits > shape_.bucket_bits) trim(part, part_bits, out.hashes, range);
    return range;
  }

 private:
  struct EntrySpan {
    std::uint64_t first, last;
  };
  /// A bucket's number is written this many times at once; few buckets have more entries.
  static constexpr std::size_t kSplat = kSpareEntries;

  /// Returns the buckets that hold a part: a whole number of them, or the one that the part is in.
  [[nodiscard]] EntrySpan buckets_of(std::uint64_t part, std::uint32_t part_bits) const {
    if (part_bits > shape_.bucket_bits) {
      const std::uint64_t bucket = part >> (part_bits - shape_.bucket_bits);
      return {bucket, bucket + 1};
    }
    const std::uint32_t shift = shape_.bucket_bits - part_bits;
    return {part << shift, (part + 1) << shift};
  }

  /// Clamped: a file that changes while it is read must not lead outside.
  [[nodiscard]] std::uint64_t offset(std::uint64_t bucket) const {
    if (shape_.bucket_bits == 0) return bucket == 0 ? 0 : shape_.entries;
    return std::min(read_bits<std::uint64_t>(offsets_, bucket * layout_.offset_bits, layout_.offset_bits),
                    shape_.entries);
  }
  [[nodiscard]] EntrySpan entries_of(const EntrySpan& buckets) const {
    if (shape_.entries == 0) return {0, 0};
    const std::uint64_t first = offset(buckets.first);
    return {first, std::max(first, offset(buckets.last))};
  }

  /// Writes the bits that the bucket's number stands for, at the places of its entries and, rather than
  /// counting to their number, at some behind them, which are written over by the buckets that follow.
  void write_tops(const EntrySpan& buckets, const EntrySpan& span, Key* hashes) const {
    if (shape_.bucket_bits == 0) {
      std::fill_n(hashes, span.last - span.first, Key{0});
      return;
    }
    std::uint64_t begin = span.first;
    for (std::uint64_t b = buckets.first; b < buckets.last; ++b) {
      const Key top = static_cast<Key>(Key{b} << layout_.rest_bits);
      const std::uint64_t end = std::clamp(offset(b + 1), begin, span.last);
      Key* at = hashes + (begin - span.first);
      for (std::size_t i = 0; i < kSplat; ++i) at[i] = top;
      if (end - begin > kSplat) std::fill_n(at + kSplat, end - begin - kSplat, top);
      begin = end;
    }
    // A damaged payload leaves these over; the order of hashes will tell.
    std::fill_n(hashes + (begin - span.first), span.last - begin, Key{0});
  }

  /// Completes hashes, writes count codes plus 1. False when hashes do not rise, or another number of codes
  /// than there are large counts says that the count is elsewhere.
  bool unpack(const EntrySpan& span, const EntryArrays<Key>& out) const {
    if constexpr (sizeof(Key) == 8) {
      // A field that starts anywhere in a byte lies in the 8 bytes from there on.
      if (layout_.entry_bits <= 57) {
        return unpack_with(span, out, [this](std::uint64_t at, std::uint64_t& code) {
          const std::uint64_t field = load(at);
          code = field & escape_;
          return (field >> shape_.count_bits) & low_bits(layout_.rest_bits);
        });
      }
      if (layout_.rest_bits <= 57 && shape_.count_bits <= 57) {
        return unpack_with(span, out, [this](std::uint64_t at, std::uint64_t& code) {
          code = load(at) & escape_;
          return load(at + shape_.count_bits) & low_bits(layout_.rest_bits);
        });
      }
    }
    return unpack_with(span, out, [this](std::uint64_t at, std::uint64_t& code) {
      code = read_bits<std::uint64_t>(entries_, at, shape_.count_bits);
      return read_bits<Key>(entries_, at + shape_.count_bits, layout_.rest_bits);
    });
  }

  template <class Read>
  [[gnu::always_inline]] bool unpack_with(const EntrySpan& span, const EntryArrays<Key>& out,
                                          const Read& read) const {
    const std::size_t n = static_cast<std::size_t>(span.last - span.first);
    std::uint64_t at = span.first * layout_.entry_bits;
    const std::uint32_t step = layout_.entry_bits;
    const std::uint64_t escape = escape_;
    std::uint64_t escapes = 0;
    bool rises = true;
    Key previous = 0;
    for (std::size_t i = 0; i < n; ++i, at += step) {
      std::uint64_t code = 0;
      const Key hash = out.hashes[i] | read(at, code);
      rises &= hash > previous || i == 0;
      previous = hash;
      out.hashes[i] = hash;
      out.counts[i] = code + 1;
      escapes += code == escape ? 1 : 0;
    }
    return rises && escapes == large_counts_of(span);
  }

  [[nodiscard]] std::uint64_t large_counts_of(const EntrySpan& span) const {
    if (shape_.exceptions == 0) return 0;
    return first_exception(span.last) - first_exception(span.first);
  }

  /// False when one belongs to an entry that does not say so, or is 0.
  bool patch_large_counts(const EntrySpan& span, std::uint64_t* counts) const {
    if (shape_.exceptions == 0) return true;
    const std::uint64_t last = first_exception(span.last);
    bool is_sound = true;
    for (std::uint64_t x = first_exception(span.first); x < last; ++x) {
      const std::uint64_t count =
          read_bits<std::uint64_t>(exceptions_, x * layout_.exception_bits, shape_.exception_bits);
      const std::uint64_t entry = std::clamp(exception_number(x), span.first, span.last - 1);
      is_sound &= counts[entry - span.first] - 1 == escape_ && count > 0;
      counts[entry - span.first] = count;
    }
    return is_sound;
  }

  /// Returns the first exception of entry `entry` or a later one.
  [[nodiscard]] std::uint64_t first_exception(std::uint64_t entry) const {
    std::uint64_t first = 0;
    for (std::uint64_t size = shape_.exceptions; size > 0;) {
      const std::uint64_t half = size / 2;
      const bool is_before = exception_number(first + half) < entry;
      first += is_before ? half + 1 : 0;
      size = is_before ? size - half - 1 : half;
    }
    return first;
  }
  [[nodiscard]] std::uint64_t exception_number(std::uint64_t x) const {
    return read_bits<std::uint64_t>(exceptions_, x * layout_.exception_bits + shape_.exception_bits,
                                    layout_.number_bits);
  }

  /// Leaves those of a bucket that are in the part.
  void trim(std::uint64_t part, std::uint32_t part_bits, const Key* hashes, DecodedRange& range) const {
    const std::uint32_t shift = key_bits_ - part_bits;
    const Key* const end = hashes + range.end;
    const auto part_of = [shift](Key hash) { return static_cast<std::uint64_t>(hash >> shift); };
    range.begin = static_cast<std::size_t>(
        std::partition_point(hashes, end, [&](Key hash) { return part_of(hash) < part; }) - hashes);
    range.end = static_cast<std::size_t>(
        std::partition_point(hashes + range.begin, end, [&](Key hash) { return part_of(hash) == part; }) -
        hashes);
  }

  [[nodiscard]] static constexpr std::uint64_t low_bits(std::uint32_t bits) {
    return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  }
  /// Returns at least 57 bits from bit `at` of the entries on.
  [[nodiscard]] std::uint64_t load(std::uint64_t at) const {
    std::uint64_t word = 0;
    std::memcpy(&word, reinterpret_cast<const char*>(entries_) + at / 8, sizeof word);
    return word >> (at % 8);
  }

  ShardShape shape_;
  PayloadLayout layout_;
  std::uint32_t key_bits_;
  const std::uint64_t* offsets_;
  const std::uint64_t* entries_;
  const std::uint64_t* exceptions_;
  std::uint64_t escape_;
};

}  // namespace warpmer::index
