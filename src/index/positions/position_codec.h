#pragma once
/// The payload of a bin of a position index (docs/position-index-format.md): packing, and reading where it
/// lies.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "index/positions/position_file.h"
#include "kmer/bit_stream.h"
#include "kmer/kmer.h"

namespace warpmer::index {

/// Entries per bucket aimed at: between half of this and all of it.
inline constexpr std::uint64_t kPositionBucketEntries = 4;

/// Returns the number of buckets of a bin with so many entries: 2^bits.
constexpr std::uint32_t position_bucket_bits(std::uint64_t entries, const PositionParams& params) {
  if (entries <= kPositionBucketEntries) return 0;
  const auto bits = static_cast<std::uint32_t>(
      std::bit_width((entries + kPositionBucketEntries - 1) / kPositionBucketEntries - 1));
  return std::min({bits, 2 * params.k - params.bin_bits, std::uint32_t{31}});
}

/// The places where the parts of a payload begin, in words, and the widths of their numbers.
struct BinLayout {
  std::uint32_t offset_bits = 0;  ///< width of a bucket offset; 0: there are none
  std::uint32_t rest_bits = 0;    ///< width of the hash, in an entry
  std::uint32_t entry_bits = 0;
  std::size_t entries_at = 0;
  std::size_t words = 0;
};

/// `bucket_bits` is at most 2k - bin_bits, and 48.
constexpr BinLayout bin_layout(std::uint64_t entries, std::uint32_t bucket_bits,
                               const PositionParams& params) {
  BinLayout layout;
  layout.rest_bits = 2 * params.k - params.bin_bits - bucket_bits;
  layout.entry_bits = layout.rest_bits + params.location_bits;
  if (entries == 0) return layout;
  if (bucket_bits > 0) {
    layout.offset_bits = static_cast<std::uint32_t>(std::bit_width(entries));
    layout.entries_at = words_for((std::uint64_t{1} << bucket_bits) + 1, layout.offset_bits);
  }
  layout.words = layout.entries_at + words_for(entries, layout.entry_bits);
  return layout;
}

/// Returns a key with the low `bits` bits set.
template <class Key>
constexpr Key low_bits(std::uint32_t bits) {
  return bits >= kKeyBits<Key> ? ~Key{0} : (Key{1} << bits) - 1;
}

/// Packs the `n` entries of a bin, ordered by hash and, for equal hashes, by location. `offsets` are where
/// the buckets begin; there is none for the end. The payload has kReadAheadWords more of capacity.
template <class Key, class LocationType>
void pack_bin(const Key* hashes, const LocationType* locations, std::size_t n,
              std::span<const std::uint64_t> offsets, const PositionParams& params,
              std::vector<std::uint64_t>& payload) {
  const auto bucket_bits = static_cast<std::uint32_t>(std::bit_width(offsets.size()) - 1);
  const BinLayout layout = bin_layout(n, bucket_bits, params);
  payload.reserve(layout.words + kReadAheadWords);
  payload.assign(layout.words, 0);
  if (n == 0) return;
  if (bucket_bits > 0) {
    BitWriter out(payload.data());
    for (const std::uint64_t offset : offsets) out.write(offset, layout.offset_bits);
    out.write(n, layout.offset_bits);
    out.flush();
  }
  const Key rest_mask = low_bits<Key>(layout.rest_bits);
  BitWriter out(payload.data() + layout.entries_at);
  for (std::size_t i = 0; i < n; ++i) {
    out.write(locations[i], params.location_bits);
    out.write_wide(hashes[i] & rest_mask, layout.rest_bits);
  }
  out.flush();
}

/// Reads a bin where it lies.
template <class Key>
class BinReader {
 public:
  BinReader(const BinView& view, const PositionParams& params)
      : view_(view),
        layout_(bin_layout(view.entries, view.bucket_bits, params)),
        location_bits_(params.location_bits),
        bucket_mask_((std::uint64_t{1} << view.bucket_bits) - 1),
        rest_mask_(low_bits<Key>(layout_.rest_bits)) {}

  [[nodiscard]] std::uint64_t entries() const { return view_.entries; }
  [[nodiscard]] std::uint32_t bucket_bits() const { return view_.bucket_bits; }

  /// Returns the bucket of a hash that belongs to this bin.
  [[nodiscard]] std::uint64_t bucket_of(Key hash) const {
    return view_.bucket_bits == 0 ? 0 : static_cast<std::uint64_t>(hash >> layout_.rest_bits) & bucket_mask_;
  }
  /// Returns the part of a hash that an entry stores.
  [[nodiscard]] Key rest_of(Key hash) const { return hash & rest_mask_; }

  /// Returns the number of a bucket's first entry, and with `bucket` + 1 that of the one behind its last.
  /// Clamped, so that no payload can lead outside.
  [[nodiscard]] std::uint64_t bucket_begin(std::uint64_t bucket) const {
    if (view_.bucket_bits == 0) return bucket == 0 ? 0 : view_.entries;
    if (view_.entries == 0) return 0;
    return std::min(
        read_bits<std::uint64_t>(view_.payload, bucket * layout_.offset_bits, layout_.offset_bits),
        view_.entries);
  }
  [[nodiscard]] Key rest_at(std::uint64_t entry) const {
    return read_bits<Key>(view_.payload + layout_.entries_at, entry * layout_.entry_bits + location_bits_,
                          layout_.rest_bits);
  }
  [[nodiscard]] Location location_at(std::uint64_t entry) const {
    return read_bits<Location>(view_.payload + layout_.entries_at, entry * layout_.entry_bits,
                               location_bits_);
  }

  /// Ask the processor for the offsets of a bucket, and for an entry.
  void prefetch_bucket(std::uint64_t bucket) const {
    __builtin_prefetch(reinterpret_cast<const char*>(view_.payload) + bucket * layout_.offset_bits / 8);
  }
  void prefetch_entry(std::uint64_t entry) const {
    __builtin_prefetch(reinterpret_cast<const char*>(view_.payload + layout_.entries_at) +
                       entry * layout_.entry_bits / 8);
  }

 private:
  BinView view_;
  BinLayout layout_;
  std::uint32_t location_bits_;
  std::uint64_t bucket_mask_;
  Key rest_mask_;
};

}  // namespace warpmer::index
