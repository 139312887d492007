#pragma once
/// The items that the children of a paged table (table/paged_table.h) hold, by the type of their keys: pairs
/// of a 32-bit key and a 32-bit value, in one word, or k-mers with their counts. This says how an operation
/// is written down, and what of a key decides which child it belongs to.

#include <cstdint>

#include "kmer/hash.h"
#include "kmer/minimizer.h"
#include "kmer/platform.h"
#include "table/hash_family.h"
#include "table/tile.h"
#include "table/word_slots.h"

namespace warpmer::table {

/// A key's place, of which children have ranges, by a hash of a seed that no child uses: where a key lies in
/// its child has nothing to do with which child it is.
template <class Key>
struct HashPlace {
  /// Number of bits of a place that tell children apart at most.
  static constexpr std::uint32_t kBits = 20;

  [[nodiscard]] WARPMER_HD constexpr std::uint32_t operator()(Key key) const {
    return HashFamily<Key>::hash(HashFamily<Key>(0x57A2F15Bu).mix(key), 0);
  }
  /// True when keys that have the entries [first, end) of a directory can be told apart by their places.
  [[nodiscard]] static constexpr bool can_divide(std::uint32_t first, std::uint32_t end) {
    return end - first > 1;
  }
};

/// Returns the shard, of 2^bits, of a k-mer that is given by its hash (`KmerHash`).
template <class Key>
WARPMER_HD constexpr std::uint32_t shard_of_hash(Key hash, std::uint32_t k, bool is_canonical,
                                                 std::uint32_t bits) {
  return shard_of_kmer(KmerHash<Key>(k).inverse(hash), k, is_canonical, bits);
}

/// The place of a k-mer, given by its hash: its shard, of those there are, in the top kShardBits
/// bits. So a child has a range of consecutive shards.
template <class Key>
struct ShardPlace {
  static constexpr std::uint32_t kBits = kShardBits;

  std::uint32_t k = 0;  ///< more than kMaxDenseK
  std::uint32_t first_shard = 0, end_shard = 1u << kShardBits;
  bool is_canonical = true;

  [[nodiscard]] WARPMER_HD constexpr std::uint32_t operator()(Key hash) const {
    return entry_of(shard_of_hash(hash, k, is_canonical, kShardBits)) << (32 - kShardBits);
  }
  /// Returns the first shard whose place is not before that of an entry of a directory of 2^kShardBits.
  [[nodiscard]] constexpr std::uint32_t shard_at(std::uint32_t entry) const {
    const std::uint32_t shards = end_shard - first_shard, all = 1u << kShardBits;
    return first_shard + (entry * shards + all - 1) / all;
  }
  /// Returns the entry that has a shard.
  [[nodiscard]] constexpr std::uint32_t entry_of(std::uint32_t shard) const {
    return ((shard - first_shard) << kShardBits) / (end_shard - first_shard);
  }
  [[nodiscard]] constexpr bool can_divide(std::uint32_t first, std::uint32_t end) const {
    return shard_at(end) - shard_at(first) > 1;
  }
};

/// K-mers, as hashes of 2k bits, with counts. A hash that is kEmptyKey (2k = kKeyBits) is never one of them:
/// its owner counts it beside the table, and sees to it that no count passes 2^32. kTombstoneKey is a key
/// like any other.
template <class KeyType>
struct ChildItems {
  using Key = KeyType;
  using Update = Slot<Key>;
  using Place = ShardPlace<Key>;
  static constexpr bool kArePairs = false;

  [[nodiscard]] WARPMER_HD static constexpr Key key_of(const Update& update) { return update.key; }
  [[nodiscard]] WARPMER_HD static constexpr std::uint32_t count_of(const Update& update) {
    return update.count;
  }
  /// Returns what an operation becomes that is done.
  [[nodiscard]] WARPMER_HD static constexpr Update done() { return {kEmptyKey<Key>, 0}; }
};

/// Pairs, as words.
template <>
struct ChildItems<Key32> {
  using Key = Key32;
  using Update = std::uint64_t;
  using Place = HashPlace<Key32>;
  static constexpr bool kArePairs = true;

  [[nodiscard]] WARPMER_HD static constexpr Key key_of(Update update) { return table::key_of(update); }
  [[nodiscard]] WARPMER_HD static constexpr std::uint32_t count_of(Update update) {
    return table::count_of(update);
  }
  [[nodiscard]] WARPMER_HD static constexpr Update done() { return kEmptyWord; }
};

}  // namespace warpmer::table
