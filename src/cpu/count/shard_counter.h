#pragma once
/// Counting one shard in a hash table, or by sorting: pending super-k-mers in, distinct k-mers with counts
/// out, in the order of their groups. One per thread; its memory is reused from shard to shard and stays in
/// the core's cache.

#include <algorithm>
#include <cstdint>
#include <memory>

#include "backend/count_table.h"
#include "base/error.h"
#include "cpu/count/hash_counter.h"
#include "cpu/count/scheme_counters.h"
#include "cpu/count/sorted_buckets.h"
#include "cpu/simd/kernels.h"
#include "cpu/simd/word_format.h"
#include "groups/group_key.h"
#include "groups/group_shape.h"
#include "groups/repeated_kmer.h"
#include "kmer/hash.h"

namespace warpmer::cpu {

/// Tables hold hashes of the keys of groups/group_key.h, which have fewer bits than k-mers. What comes out of
/// them in any order, and what is counted without one, is put in order by a HashGraph.
template <class Key, int Words>
class ShardCounter {
 public:
  using Word = StoredFlankedWord<Words>;

  /// `table` is the name of one.
  ShardCounter(const Kernels& kernels, std::uint32_t k, backend::CountTable table)
      : kernels_(kernels.shard<Key, Words>()),
        k_(k),
        stored_(groups::GroupShape(k)),
        repeats_(stored_.flank_bases()),
        hash_(k),
        buckets_(kernels_, groups::GroupKeys<Key, Key>(k).bits()),
        table_(make_scheme_counter<Key>(table, kernels, k)) {}

  /// Begins a shard, of about so many words.
  void begin(std::uint64_t words) {
    words_ = words;
    carries_.clear();
    list_.size = 0;
    list_.weights_or = 0;
    most_listed_ = kMostListed;
    if (!table_) return;
    // Words that are many because they repeat need no large table, and one that is too small grows.
    table_->reset(std::min(static_cast<double>(words) * distinct_per_word_,
                           static_cast<double>(std::max(kFirstDistinct, 2 * last_distinct_))));
  }
  /// Adds words of the shard.
  void add(const Word* words, std::size_t n) {
    const std::size_t first = list_.size, room = first + n * kMostWordKmers<Words> + 8;
    list_.keys = arrays_.keys.grow(room, first);
    list_.weights = arrays_.weights.grow(room, first);
    for (std::size_t at = 0; at < n;) {
      const std::size_t joined = first_joined(words, at, n);
      kernels_.append(words + at, nullptr, joined - at, k_, list_);
      if (joined < n) append_joined(words[joined]);
      at = joined + 1;
    }
    if (table_) {
      table_->insert(list_, carries_);
      list_.size = 0;
      return;
    }
    find_keys(first);
    if (list_.size > most_listed_) shorten_list();
  }
  /// Ends the shard. The result is in `keys()`, `counts()`, `size()` until the next one begins.
  void end() {
    if (table_) {
      list_ = table_->list(arrays_, carries_);
      find_keys(0);
      Carries<Key> of_keys;
      for (const auto& [hashed, carry] : carries_) of_keys[hash_.inverse(hashed)] = carry;
      carries_.swap(of_keys);
    }
    reduce_list();
    for (const auto& [key, carry] : carries_)
      counts()[std::lower_bound(keys(), keys() + size_, key) - keys()] += carry;
    remember();
  }

  [[nodiscard]] Key* keys() const { return arrays_.keys.data(); }
  [[nodiscard]] std::uint64_t* counts() const { return arrays_.counts.data(); }
  [[nodiscard]] std::size_t size() const { return size_; }

  [[nodiscard]] std::uint64_t memory_bytes() const {
    return arrays_.keys.bytes() + arrays_.weights.bytes() + arrays_.counts.bytes() + buckets_.memory_bytes() +
           (table_ ? table_->memory_bytes() : 0);
  }

  /// Gives memory back.
  void clear() {
    arrays_.keys.clear();
    arrays_.weights.clear();
    arrays_.counts.clear();
    buckets_.clear();
    if (table_) table_->clear();
  }

 private:
  static constexpr std::size_t kFirstDistinct = std::size_t{1} << 16;
  /// With more k-mers in the list than this, what is distinct takes the place of all.
  static constexpr std::size_t kMostListed = std::size_t{1} << 20;

  /// Returns the first word from `at` on of k-mers that are joined (groups/repeated_kmer.h), or `n`.
  std::size_t first_joined(const Word* words, std::size_t at, std::size_t n) const {
    while (at < n && !repeats_.is_joined(stored_.bases(words[at].word[0]))) ++at;
    return at;
  }
  void append_joined(const Word& word) {
    const auto joined = stored_.super_kmer(word);
    const groups::FlankedWordFormat<Words> format{groups::GroupShape(k_)};
    const Word kmer = WordFormat<groups::FlankedWord<Words>>(k_).turned(
        format.pack(stored_.rest(word), repeats_.kmer(joined)));
    const std::uint32_t times = repeats_.times(joined);
    kernels_.append(&kmer, &times, 1, k_, list_);
  }

  /// Puts keys in the place of hashes, from number `first` of the list on.
  void find_keys(std::size_t first) {
    for (std::size_t i = first; i < list_.size; ++i) list_.keys[i] = hash_.inverse(list_.keys[i]);
  }

  /// Adds up what is in the list. What counts cannot hold goes to the carries.
  void reduce_list() {
    if (list_.size > SortedBuckets<Key>::kMostHashes) {
      throw ResourceError(
          "a shard has 2^31 distinct k-mers and more, which --table cannot sort; count without it");
    }
    size_ = buckets_.reduce(list_, arrays_, carries_);
  }

  /// Puts distinct k-mers, with their counts, in the place of all that have been listed: so the list needs
  /// memory for what is distinct, at most twice, however much comes.
  void shorten_list() {
    reduce_list();
    list_ = {keys(), arrays_.weights.grow(size_, 0), size_, 0};
    for (std::size_t i = 0; i < size_; ++i) {
      const auto weight = static_cast<std::uint32_t>(std::min<std::uint64_t>(counts()[i], UINT32_MAX));
      if (counts()[i] > weight) carries_[keys()[i]] += counts()[i] - weight;
      list_.weights[i] = weight;
      list_.weights_or |= weight;
    }
    most_listed_ = std::clamp(2 * size_, kMostListed, SortedBuckets<Key>::kMostHashes - kMostListed);
  }

  /// Remembers what the next shard may expect.
  void remember() {
    if (words_ == 0 || size_ == 0) return;
    distinct_per_word_ = static_cast<double>(size_) / static_cast<double>(words_);
    last_distinct_ = size_;
  }

  const ShardKernels<Key, Words>& kernels_;
  std::uint32_t k_;
  StoredFlankedFormat<Words> stored_;
  groups::RepeatedKmers<typename StoredFlankedFormat<Words>::Flanks> repeats_;
  KmerHash<Key> hash_;
  SortedBuckets<Key> buckets_;
  std::unique_ptr<HashCounter<Key>> table_;  ///< null: k-mers stay in the list until all are there
  ShardArrays<Key> arrays_;
  HashList<Key> list_{};  ///< in arrays_; of hashes on their way into a table, else of keys
  std::size_t most_listed_ = kMostListed;
  std::uint64_t words_ = 0;  ///< of this shard, about
  // The numbers that the shard before had.
  double distinct_per_word_ = 2;
  std::size_t last_distinct_ = 0;
  Carries<Key> carries_;
  std::size_t size_ = 0;
};

}  // namespace warpmer::cpu
