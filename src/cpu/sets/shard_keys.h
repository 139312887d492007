#pragma once
/// The integers that the k-mers of a shard are sorted and compared by: hashes in an index of entries (k up to
/// 12), the keys of groups/group_key.h in one of strings.

#include <cstddef>
#include <cstdint>

#include "cpu/simd/kernels.h"
#include "groups/group_key.h"
#include "groups/shard_reader.h"
#include "index/index_file.h"
#include "kmer/hash.h"
#include "kmer/kmer.h"
#include "kmer/minimizer.h"

namespace warpmer::cpu {

/// `Key` is wide enough for a k-mer.
template <class Key>
class ShardKeys {
 public:
  /// Flanks are narrower than k-mers. With one type for both there is one less to be compiled for.
  using GroupKeys = groups::GroupKeys<Key, Key>;

  explicit ShardKeys(const index::IndexParams& params)
      : k_(params.k), canonical_(params.canonical), hash_(k_), keys_(k_) {}

  [[nodiscard]] bool is_canonical() const { return canonical_; }
  [[nodiscard]] bool are_of_groups() const { return k_ > kMaxDenseK; }
  [[nodiscard]] const GroupKeys& of_groups() const { return keys_; }
  /// Returns the bits that keys have.
  [[nodiscard]] std::uint32_t bits() const { return are_of_groups() ? keys_.bits() : 2 * k_; }
  /// Returns the number of top bits of keys by which a shard can be divided: those of the group's id.
  [[nodiscard]] std::uint32_t most_part_bits() const {
    return are_of_groups() ? keys_.shape().rest_bits() : 2 * k_;
  }

  /// A k-mer's shard, and its key there.
  struct KmerPlace {
    std::uint32_t shard;
    Key key;
    auto operator<=>(const KmerPlace&) const = default;
  };
  /// Returns the place of a k-mer as an index has it.
  [[nodiscard]] KmerPlace place(Key kmer) const {
    if (!are_of_groups()) return {0, hash_(kmer)};
    const auto place = keys_.place(kmer, canonical_);
    return {place.shard, place.key};
  }
  /// Returns the k-mer of a place.
  [[nodiscard]] Key kmer(std::uint32_t shard, Key key) const {
    if (!are_of_groups()) return hash_.inverse(key);
    const Key kmer = keys_.template kmer<Key>({shard, key});
    return canonical_ ? canonical(kmer, k_) : kmer;
  }

 private:
  std::uint32_t k_;
  bool canonical_;
  KmerHash<Key> hash_;
  GroupKeys keys_;
};

/// Takes the k-mers of a range of groups from strings, in order of their keys. One per thread.
template <class Key>
class StringDecoder {
 public:
  explicit StringDecoder(const ShardKeys<Key>& keys)
      : all_keys_(keys), keys_(keys.of_groups()), group_(keys_.shape().flank_bases()) {}

  /// Appends the keys and counts of the groups whose ids' top `part_bits` bits are `part`: `grow(n)` makes
  /// room for n more and returns where they go, {keys, counts}.
  template <class Grow>
  void append(const groups::ShardBits& shard, std::uint64_t part, std::uint32_t part_bits, Grow&& grow) {
    for_each_group(shard, part, part_bits, [&](std::uint32_t rest) {
      const auto [keys, counts] = grow(group_.size());
      group_.write(
          keys, counts, 2 * (shard.flank_bases - 1), [](std::uint32_t, Key flanks) { return flanks; },
          [&](Key flanks, std::uint32_t layer) { return keys_.pack(rest, layer, flanks); });
    });
  }
  /// Does the same with k-mers in the place of their keys, those of a large group about `most` at a time,
  /// which are in order. `number` is the shard's.
  template <class Grow>
  void append_kmers(const groups::ShardBits& shard, std::uint32_t number, std::uint64_t part,
                    std::uint32_t part_bits, std::size_t most, Grow&& grow) {
    const auto append = [&](std::uint32_t rest) {
      const auto [kmers, counts] = grow(group_.size());
      const std::uint32_t mmer = keys_.mmer(number, rest);
      // Around one minimizer k-mers are in the order of their flanks.
      group_.write(
          kmers, counts, 2 * (keys_.shape().k - 1),
          [&](std::uint32_t layer, Key flanks) {
            return groups::kmer_of<Key>(groups::FlankedKmer<Key>{mmer, layer, flanks}, keys_.shape());
          },
          [](Key kmer, std::uint32_t) { return kmer; });
      if (!all_keys_.is_canonical()) return;
      for (std::size_t i = 0; i < group_.size(); ++i) kmers[i] = canonical(kmers[i], keys_.shape().k);
    };
    for_each_group(shard, part, part_bits, append, most);
  }

 private:
  /// Calls `visit(rest)` for the groups of a part, each in `group_`, or in parts of about `most` k-mers.
  template <class Visit>
  void for_each_group(const groups::ShardBits& shard, std::uint64_t part, std::uint32_t part_bits,
                      Visit&& visit, std::size_t most = SIZE_MAX) {
    const std::uint32_t shift = keys_.shape().rest_bits() - part_bits;
    const auto visit_rest = [&](std::uint32_t rest, groups::GroupKmers<Key>&) { visit(rest); };
    groups::for_each_group(shard, part << shift, (part + 1) << shift, group_, visit_rest, most);
  }

  ShardKeys<Key> all_keys_;
  typename ShardKeys<Key>::GroupKeys keys_;
  groups::GroupKmers<Key> group_;
};

}  // namespace warpmer::cpu
