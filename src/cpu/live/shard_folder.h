#pragma once
/// A shard's strings, what has changed since and what is pending, made one: strings again. One per
/// thread; its memory is reused.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "backend/tally.h"
#include "cpu/count/sorted_buckets.h"
#include "cpu/count/tally_filter.h"
#include "cpu/live/change_table.h"
#include "cpu/live/pending_super_kmers.h"
#include "cpu/sets/shard_keys.h"
#include "cpu/sets/shard_pieces.h"
#include "cpu/sets/sorted_lists.h"
#include "groups/group_key.h"
#include "groups/path_cover.h"
#include "groups/shard_bits.h"
#include "groups/shard_encoder.h"
#include "groups/word_counter.h"
#include "index/index_file.h"
#include "kmer/hash.h"

namespace warpmer::cpu {

/// All that a shard has.
template <class Key, int Words>
struct ShardContent {
  groups::ShardBits strings;
  std::uint64_t kmers;                      ///< in the strings
  bool has_large_groups;                    ///< there
  const ChangeTable<Key>* changes;          ///< null: none
  const PendingSuperKmers<Words>* pending;  ///< on top of these; null: none
};

template <class Key, int Words>
class ShardFolder {
 public:
  using Content = ShardContent<Key, Words>;

  ShardFolder(const ShardKernels<Key, Words>& kernels, const index::IndexParams& params)
      : hash_(params.k),
        keys_(params),
        decoder_(keys_),
        encoder_(params.k),
        by_group_(kernels, keys_.bits()),
        counter_(params.k) {}

  /// Returns what the following take for a shard, about.
  static std::uint64_t bytes_for(const Content& content) {
    const std::size_t changes = content.changes == nullptr ? 0 : content.changes->size();
    return bytes_to_merge(content.kmers, changes, content.has_large_groups) +
           (content.pending == nullptr ? 0 : bytes_to_count(content.pending->size()));
  }
  /// Returns what making one of strings of so many k-mers, and so many changes, takes. A large group, which
  /// may have nearly all of them, is listed as a whole.
  static std::uint64_t bytes_to_merge(std::uint64_t kmers, std::uint64_t changes, bool has_large_groups) {
    constexpr std::uint64_t kStringBytes = 26;  // for each k-mer of a result, in the making and then
    constexpr std::uint64_t kChangeBytes = 3 * sizeof(Key) + 2 * sizeof(std::uint64_t);
    constexpr std::uint64_t kLargeBytes = sizeof(Key) + groups::PathCover<Key>::kBytesOfKmer;
    const std::uint64_t all = kmers + changes, listed = has_large_groups ? all : kPartEntries;
    return all * (kStringBytes + (has_large_groups ? kLargeBytes : 0)) + changes * kChangeBytes +
           (changes > 0 ? 2 : 1) * listed * (sizeof(Key) + sizeof(std::uint64_t));
  }
  /// Returns what counting so many bytes of pending words takes, at most: those of one large group, which is
  /// counted k-mer by k-mer.
  static std::uint64_t bytes_to_count(std::uint64_t bytes) { return 60 * bytes; }

  /// Returns the shard as it is with all its parts.
  groups::EncodedShard fold(const Content& content, backend::Tally& tally,
                            std::vector<std::uint64_t>&& spent = {}) {
    groups::EncodedShard shard;
    if (content.pending == nullptr) {
      shard = fold_changes(content, tally, std::move(spent));
    } else {
      TallyFilter filter(tally);
      shard = count(content, filter, std::move(spent));
    }
    trim();
    return shard;
  }
  /// Takes note of all counts.
  void note(const Content& content, backend::Tally& tally) {
    if (content.pending == nullptr) {
      for_each_part(content, [&](ListBuffer<Key>& list) { tally.note(list.counts(), list.size); });
    } else {
      TallyFilter filter(tally, true);
      count(content, filter, {});
    }
    trim();
  }

 private:
  /// Memory that is kept for the next shard, at most.
  static constexpr std::uint64_t kKeptBytes = std::uint64_t{1} << 20;

  groups::EncodedShard fold_changes(const Content& content, backend::Tally& tally,
                                    std::vector<std::uint64_t>&& spent) {
    encoder_.begin();
    for_each_part(content, [&](ListBuffer<Key>& list) {
      const std::size_t kept = tally.filter(list.hashes(), list.counts(), list.size);
      encoder_.add({list.hashes(), kept}, {list.counts(), kept});
    });
    return encoder_.finish(std::move(spent));
  }

  /// Counts what is pending together with the strings, as counting does with what was counted early.
  groups::EncodedShard count(const Content& content, TallyFilter& filter,
                             std::vector<std::uint64_t>&& spent) {
    groups::EncodedShard changed;
    groups::ShardBits strings = content.strings;
    if (content.changes != nullptr) {
      backend::Tally unseen;
      changed = fold_changes(content, unseen, {});
      strings = {keys_.of_groups().shape(), changed.sizes, changed.payload.data(), strings.lengths};
    }
    counter_.begin(content.pending->words());
    content.pending->for_each_block([&](const auto& words) { counter_.add(words.data(), words.size()); });
    const bool has_strings = content.changes != nullptr ? changed.sizes.kmers > 0 : content.kmers > 0;
    return counter_.count({&strings, has_strings ? std::size_t{1} : 0}, filter, std::move(spent));
  }

  void trim() {
    if (counter_.memory_bytes() > kKeptBytes) counter_.clear();
    if (encoder_.memory_bytes() > kKeptBytes) encoder_.clear();
    if (by_group_.memory_bytes() + arrays_.keys.bytes() + arrays_.counts.bytes() > kKeptBytes) {
      by_group_.clear();
      arrays_ = {};
    }
  }

  /// Calls `visit(list)` for one range of groups of strings and changes after the other.
  template <class Visit>
  void for_each_part(const Content& content, Visit&& visit) {
    const std::size_t changed = content.changes == nullptr ? 0 : order(*content.changes);
    const std::uint32_t part_bits =
        part_bits_of(content.kmers + changed, kPartEntries, keys_.most_part_bits());
    std::size_t at = 0;
    for (std::uint64_t part = 0; part < std::uint64_t{1} << part_bits; ++part) {
      was_.empty();
      decoder_.append(content.strings, part, part_bits, [&](std::size_t n) { return was_.extend(n); });
      std::size_t end = at;
      while (end < changed && part_bits_match(arrays_.keys.data()[end], part, part_bits)) ++end;
      if (at == end) {
        visit(was_);
      } else {
        merge(at, end);
        visit(is_);
      }
      at = end;
    }
  }
  [[nodiscard]] bool part_bits_match(Key key, std::uint64_t part, std::uint32_t part_bits) const {
    return part_bits == 0 || static_cast<std::uint64_t>(key >> (keys_.bits() - part_bits)) == part;
  }

  /// Puts changes in order of their k-mers' keys, in `arrays_`. Returns their number.
  std::size_t order(const ChangeTable<Key>& changes) {
    const std::size_t room = changes.listed() + 8;
    HashList<Key> list{arrays_.keys.get(room), arrays_.weights.get(room), 0, 0};
    Carries<Key> rests, by_key;
    changes.list(list, rests);
    for (std::size_t i = 0; i < list.size; ++i) {
      list.keys[i] = hash_.inverse(list.keys[i]);
      list.weights_or |= list.weights[i];
    }
    for (const auto& [hash, rest] : rests) by_key[hash_.inverse(hash)] += rest;
    const std::size_t size = by_group_.reduce(list, arrays_, by_key);
    const Key* const keys = arrays_.keys.data();
    for (const auto& [key, rest] : by_key)
      arrays_.counts.data()[std::lower_bound(keys, keys + size, key) - keys] += rest;
    return size;
  }

  /// Makes `is_` of `was_` and the changes [at, end).
  void merge(std::size_t at, std::size_t end) {
    is_.empty();
    is_.reserve(was_.size + (end - at), 0, false);
    const Key* const keys = arrays_.keys.data();
    const std::uint64_t* const changes = arrays_.counts.data();
    const Key* const hashes = was_.hashes();
    const std::uint64_t* const counts = was_.counts();
    std::size_t i = 0, to = 0;
    const auto put = [&](Key key, std::uint64_t count) {
      is_.hashes()[to] = key;
      is_.counts()[to] = count;
      to += count != 0 ? 1 : 0;
    };
    for (; at < end; ++at) {
      for (; i < was_.size && hashes[i] < keys[at]; ++i) put(hashes[i], counts[i]);
      const bool is_there = i < was_.size && hashes[i] == keys[at];
      put(keys[at], count_after(changes[at], [&] { return is_there ? counts[i] : 0; }));
      i += is_there ? 1 : 0;
    }
    for (; i < was_.size; ++i) put(hashes[i], counts[i]);
    is_.size = to;
  }

  KmerHash<Key> hash_;
  ShardKeys<Key> keys_;
  StringDecoder<Key> decoder_;
  groups::KeyEncoder<Key, Key> encoder_;
  SortedBuckets<Key> by_group_;
  groups::WordCounter<Words, StoredFlankedFormat<Words>> counter_;
  ShardArrays<Key> arrays_;   ///< changes in order
  ListBuffer<Key> was_, is_;  ///< k-mers of a range of groups
};

}  // namespace warpmer::cpu
