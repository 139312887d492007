#pragma once
/// The k-mers of a shard as integers whose order is that of groups, layers and flanks: what is sorted, merged
/// and compared.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "groups/flanked_kmer.h"
#include "groups/group_shape.h"
#include "groups/path_cover.h"
#include "groups/shard_encoder.h"
#include "groups/shard_layout.h"
#include "groups/shard_reader.h"
#include "kmer/kmer.h"
#include "kmer/platform.h"

namespace warpmer::groups {

/// Packs the group's id below the shard's number, the layer and the flanks into one integer, the first
/// highest. A 64-bit `Key` is wide enough up to k = 35.
template <class Key, class Flanks>
class GroupKeys {
 public:
  WARPMER_HD explicit constexpr GroupKeys(std::uint32_t k)
      : shape_(k),
        hash_(shape_.m),
        flanks_bits_(2 * shape_.flank_bases()),
        layer_bits_(bits_of(shape_.flank_bases())) {}

  WARPMER_HD constexpr const GroupShape& shape() const { return shape_; }
  /// Returns the bits that keys have.
  WARPMER_HD constexpr std::uint32_t bits() const { return shape_.rest_bits() + layer_bits_ + flanks_bits_; }

  WARPMER_HD constexpr Key pack(std::uint32_t rest, std::uint32_t layer, Flanks flanks) const {
    return (((static_cast<Key>(rest) << layer_bits_) | layer) << flanks_bits_) | flanks;
  }
  WARPMER_HD constexpr std::uint32_t rest(Key key) const {
    return static_cast<std::uint32_t>(key >> (layer_bits_ + flanks_bits_));
  }
  WARPMER_HD constexpr std::uint32_t layer(Key key) const {
    return static_cast<std::uint32_t>(key >> flanks_bits_) & ((1u << layer_bits_) - 1);
  }
  WARPMER_HD constexpr Flanks flanks(Key key) const {
    return static_cast<Flanks>(key & key_mask<Key>(shape_.flank_bases()));
  }

  /// The place of a k-mer: its shard, and its key there.
  struct Place {
    std::uint32_t shard;
    Key key;
  };
  template <class Kmer>
  WARPMER_HD constexpr Place place(Kmer kmer, bool canonical) const {
    return place_of(flanked_kmer<Flanks>(kmer, shape_, canonical));
  }
  WARPMER_HD constexpr Place place_of(const FlankedKmer<Flanks>& kmer) const {
    const std::uint32_t id = hash_(kmer.mmer);
    return {shape_.shard_of(id), pack(shape_.rest_of(id), kmer.layer, kmer.flanks)};
  }
  /// Returns the k-mer of a place, in the orientation of its minimizer.
  template <class Kmer>
  WARPMER_HD constexpr Kmer kmer(const Place& place) const {
    return kmer_of<Kmer>(
        FlankedKmer<Flanks>{mmer(place.shard, rest(place.key)), layer(place.key), flanks(place.key)}, shape_);
  }
  /// Returns the minimizer of a group.
  WARPMER_HD constexpr std::uint32_t mmer(std::uint32_t shard, std::uint32_t rest) const {
    return hash_.inverse((shard << shape_.rest_bits()) | rest);
  }

 private:
  GroupShape shape_;
  GroupHash hash_;
  std::uint32_t flanks_bits_, layer_bits_;
};

/// Calls `f` with the types of k-mers, which keys are of, too, and of flanks, as template arguments:
/// `f.template operator()<Key, Flanks>()`.
template <class F>
inline auto with_key_types(std::uint32_t k, F&& f) {
  if (k <= kMaxNarrowK) return f.template operator()<Key64, Key64>();
  if (k <= kMaxNarrowFlanksK) return f.template operator()<Key128, Key64>();
  return f.template operator()<Key128, Key128>();
}

/// Makes shards of sorted keys. One per thread; its memory is reused.
template <class Key, class Flanks>
class KeyEncoder {
 public:
  explicit KeyEncoder(std::uint32_t k) : keys_(k), cover_(keys_.shape().flank_bases()), encoder_(k) {}

  /// Returns the shard of keys in increasing order, no two equal, with their counts, 1 or more.
  EncodedShard encode(std::span<const Key> keys, std::span<const std::uint64_t> counts) {
    begin();
    add(keys, counts);
    return finish();
  }

  /// Do the same step by step: whole groups are added, in order.
  void begin() { encoder_.begin(); }
  void add(std::span<const Key> keys, std::span<const std::uint64_t> counts) {
    add(keys, counts, [](std::size_t) {});
  }
  /// Of many keys, calls `grows(bytes)` before it takes so many more, at most.
  template <class Grows>
  void add(std::span<const Key> keys, std::span<const std::uint64_t> counts, Grows&& grows) {
    using Cover = PathCover<Flanks>;
    if (keys.size() > Cover::kManyKmers) grows(keys.size() * (sizeof(Flanks) + Cover::kBytesOfKmer));
    const std::uint32_t n = keys_.shape().flank_bases();
    for (std::size_t begin = 0, end = 0; begin < keys.size(); begin = end) {
      const std::uint32_t rest = keys_.rest(keys[begin]);
      flanks_.clear();
      layer_begins_.assign(n + 2, 0);
      for (; end < keys.size() && keys_.rest(keys[end]) == rest; ++end) {
        flanks_.push_back(keys_.flanks(keys[end]));
        ++layer_begins_[keys_.layer(keys[end]) + 1];
      }
      for (std::uint32_t layer = 0; layer <= n; ++layer) layer_begins_[layer + 1] += layer_begins_[layer];
      add_group(rest, [&](auto& strings, auto& string_counts) {
        return cover_.cover(flanks_, counts.subspan(begin, end - begin), layer_begins_.data(), strings,
                            string_counts, grows);
      });
    }
  }
  /// Adds a group of strings, as ShardEncoder::add_group does.
  template <class Append>
  void add_group(std::uint32_t rest, Append&& append) {
    encoder_.add_group(rest, append);
  }
  /// `spent` is a payload of no more use.
  EncodedShard finish(std::vector<std::uint64_t>&& spent = {}) { return encoder_.finish(std::move(spent)); }

  [[nodiscard]] std::uint64_t memory_bytes() const {
    return encoder_.memory_bytes() + cover_.memory_bytes() + flanks_.capacity() * sizeof(Flanks);
  }
  /// Gives memory back.
  void clear() { *this = KeyEncoder(keys_.shape().k); }

  /// Returns the number of strings of the shard that was made last.
  [[nodiscard]] std::size_t strings() const { return encoder_.strings(); }

 private:
  GroupKeys<Key, Flanks> keys_;
  PathCover<Flanks> cover_;
  ShardEncoder<Flanks> encoder_;
  std::vector<Flanks> flanks_;
  std::vector<std::uint32_t> layer_begins_;
};

/// Calls `visit(key, count)` for each k-mer of a shard, in increasing order of keys. `kmers` is memory that
/// is used again.
template <class Key, class Flanks, class Visit>
void for_each_key(const ShardBits& shard, const GroupKeys<Key, Flanks>& keys, GroupKmers<Flanks>& kmers,
                  Visit&& visit) {
  for_each_group(shard, kmers, [&](std::uint32_t rest, const GroupKmers<Flanks>& group) {
    for (std::uint32_t layer = 0; layer <= shard.flank_bases; ++layer) {
      for (std::uint32_t i = group.layer_begins()[layer]; i < group.layer_begins()[layer + 1]; ++i)
        visit(keys.pack(rest, layer, group.flanks()[i]), group.counts()[i]);
    }
  });
}

}  // namespace warpmer::groups
