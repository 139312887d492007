#pragma once
/// Counting one shard in a hash table, or by sorting hashes: pending super-k-mers in, distinct k-mers with
/// counts out, in the order of their groups. One per thread; its memory is reused from shard to shard and
/// stays in the core's cache.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>

#include "backend/count_table.h"
#include "base/error.h"
#include "cpu/count/hash_counter.h"
#include "cpu/count/pending_store.h"
#include "cpu/count/scheme_counters.h"
#include "cpu/count/sorted_buckets.h"
#include "cpu/count/window_counter.h"
#include "cpu/memory/scratch.h"
#include "cpu/simd/kernels.h"
#include "cpu/simd/word_format.h"
#include "groups/group_key.h"
#include "kmer/hash.h"

namespace warpmer::cpu {

/// Tables hold hashes of the keys of groups/group_key.h, which have fewer bits than k-mers.
template <class Key, int Words>
class ShardCounter {
 public:
  using Word = StoredFlankedWord<Words>;

  /// `table` is the name of one.
  ShardCounter(const Kernels& kernels, std::uint32_t k, backend::CountTable table)
      : kernels_(kernels.shard<Key, Words>()),
        k_(k),
        format_(groups::GroupShape(k)),
        buckets_(kernels_, 2 * k),
        by_group_(kernels_, groups::GroupKeys<Key, Key>(k).bits()),
        table_(make_table(kernels, table)) {
    const std::size_t capacity = std::size_t{Combiner<Words>::kWays} << kMaxSetBits;
    combiner_.words = combiner_words_.get(capacity);
    combiner_.counts = combiner_counts_.get(capacity);
    std::fill_n(combiner_.counts, capacity, 0u);
    evicted_.get(kTakenWords);
    evicted_counts_.get(kTakenWords);
  }

  /// Begins a shard, of about so many words.
  void begin(std::uint64_t words) {
    words_ = words;
    carries_.clear();
    combiner_.set_bits = std::clamp<std::uint32_t>(
        static_cast<std::uint32_t>(std::bit_width(words / Combiner<Words>::kWays)), 1, kMaxSetBits);
    combiner_.hits = 0;
    combining_ = combining_pays_ || words >= kAlwaysTriedWords || ++untried_ >= kShardsUntried;
    if (combining_) untried_ = 0;
    seen_ = drained_at_ = 0;
    list_.size = 0;
    list_.weights_or = 0;
    most_listed_ = kMostListed;
    if (!table_) return;
    // Words that are many because they repeat need no large table, and one that is too small grows.
    table_->reset(std::min(static_cast<double>(words) * distinct_per_word_,
                           static_cast<double>(std::max(kFirstDistinct, 2 * last_distinct_))));
  }
  /// Adds words of the shard, at most as many as a page has.
  void add(const Word* words, std::size_t n) {
    if (!combining_) return take(words, nullptr, n);
    Word* const cleared = cleared_.get(kTakenWords);
    std::copy_n(words, n, cleared);
    for (std::size_t i = 0; i < n; ++i) format_.clear_rest(cleared[i]);
    take(evicted_.data(), evicted_counts_.data(),
         kernels_.combine(combiner_, cleared, n, evicted_.data(), evicted_counts_.data()));
    seen_ += n;
    const std::uint64_t undrained = seen_ - drained_at_;
    combining_pays_ = combiner_.hits * 8 >= undrained || undrained < kTrialWords;
    if (combining_pays_ && undrained < kDrainWords) return;
    drain();
    drained_at_ = seen_;
    combining_ = combining_pays_;
  }
  /// Ends the shard. The result is in `keys()`, `counts()`, `size()` until the next one begins.
  void end() {
    if (combining_) drain();
    size_ = table_ ? table_->harvest(arrays_, carries_) : buckets_.reduce(list_, arrays_, carries_);
    add_carries();
    remember();
    order_by_group();
  }

  [[nodiscard]] Key* keys() const { return arrays_.keys.data(); }
  [[nodiscard]] std::uint64_t* counts() const { return arrays_.counts.data(); }
  [[nodiscard]] std::size_t size() const { return size_; }

  [[nodiscard]] std::uint64_t memory_bytes() const {
    return arrays_.keys.bytes() + arrays_.weights.bytes() + arrays_.counts.bytes() + combiner_words_.bytes() +
           combiner_counts_.bytes() + buckets_.memory_bytes() + by_group_.memory_bytes() +
           (table_ ? table_->memory_bytes() : 0);
  }

  /// Gives memory back.
  void clear() {
    arrays_.keys.clear();
    arrays_.weights.clear();
    arrays_.counts.clear();
    buckets_.clear();
    by_group_.clear();
    if (table_) table_->clear();
  }

 private:
  static constexpr std::uint32_t kMaxSetBits = 11;
  static constexpr std::uint64_t kTrialWords = 2048;
  /// Number of shards after which combining is tried again where it did not pay; it is also tried in every
  /// large one.
  static constexpr std::uint32_t kShardsUntried = 16;
  static constexpr std::uint64_t kAlwaysTriedWords = 16 * kTrialWords;
  /// A combiner count stays below 2^32 when it is emptied this often.
  static constexpr std::uint64_t kDrainWords = std::uint64_t{1} << 31;
  /// Words expanded at a time; more than a page or what is thrown out of the combiner for one.
  static constexpr std::size_t kTakenWords = 256;
  static_assert(PendingPage<groups::FlankedWord<Words>>::kCapacity < kTakenWords);
  static constexpr std::size_t kFirstDistinct = std::size_t{1} << 16;
  /// With more hashes in the list than this, what is distinct takes the place of all.
  static constexpr std::size_t kMostListed = std::size_t{1} << 20;

  /// Makes the table; none where everything is listed.
  std::unique_ptr<HashCounter<Key>> make_table(const Kernels& kernels, backend::CountTable which) {
    if (which == backend::CountTable::hashgraph) return nullptr;
    if (auto counter = make_scheme_counter(which, kernels, k_, buckets_)) return counter;
    return std::make_unique<WindowCounter<Key>>(kernels_, k_);
  }

  /// Adds to counts what did not fit into them.
  void add_carries() {
    for (const auto& [key, carry] : carries_)
      counts()[std::lower_bound(keys(), keys() + size_, key) - keys()] += carry;
    carries_.clear();
  }

  /// Remembers what the next shard may expect.
  void remember() {
    if (words_ == 0 || size_ == 0) return;
    distinct_per_word_ = static_cast<double>(size_) / static_cast<double>(words_);
    last_distinct_ = size_;
  }

  void check_size() const {
    if (size_ > SortedBuckets<Key>::kMostHashes / 2)
      throw ResourceError(
          "a shard has more than 2^30 distinct k-mers, which --table cannot sort; count without it");
  }

  /// Puts keys in the place of hashes, in order.
  void order_by_group() {
    check_size();
    const KmerHash<Key> hash(k_);
    list_ = {keys(), arrays_.weights.get(size_), 0, 0};
    for (std::size_t i = 0; i < size_; ++i) append(hash.inverse(keys()[i]), counts()[i]);
    by_group_.reduce(list_, arrays_, carries_);
    add_carries();
  }

  /// Expands words, each with its count, and passes the hashes on.
  void take(const Word* words, const std::uint32_t* counts, std::size_t n) {
    const std::size_t room = list_.size + n * kMostWordKmers<Words> + 8;
    list_.keys = arrays_.keys.grow(room, list_.size);
    list_.weights = arrays_.weights.grow(room, list_.size);
    kernels_.append(words, counts, n, k_, list_);
    if (table_) {
      table_->insert(list_, carries_);
      list_.size = 0;
    } else if (list_.size > most_listed_) {
      shorten_list();
    }
  }

  /// Puts distinct hashes, with their counts, in the place of all that have been listed: so the list needs
  /// memory for what is distinct, at most twice, however much comes.
  void shorten_list() {
    size_ = buckets_.reduce(list_, arrays_, carries_);
    check_size();
    list_.keys = arrays_.keys.data();
    list_.weights = arrays_.weights.grow(size_, 0);
    list_.weights_or = 0;
    list_.size = 0;
    for (std::size_t i = 0; i < size_; ++i) append(keys()[i], counts()[i]);
    most_listed_ = std::max(kMostListed, 2 * size_);
  }

  /// Appends a hash to the list, in which there is room.
  void append(Key key, std::uint64_t count) {
    const auto weight = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, UINT32_MAX));
    if (count > weight) carries_[key] += count - weight;
    list_.keys[list_.size] = key;
    list_.weights[list_.size++] = weight;
    list_.weights_or |= weight;
  }

  /// Empties the combiner.
  void drain() {
    const std::size_t capacity = std::size_t{Combiner<Words>::kWays} << combiner_.set_bits;
    for (std::size_t first = 0; first < capacity; first += kTakenWords) {
      std::size_t used = 0;
      for (std::size_t i = first; i < std::min(first + kTakenWords, capacity); ++i) {
        evicted_.data()[used] = combiner_.words[i];
        evicted_counts_.data()[used] = combiner_.counts[i];
        used += combiner_.counts[i] != 0 ? 1 : 0;
      }
      take(evicted_.data(), evicted_counts_.data(), used);
    }
    std::fill_n(combiner_.counts, capacity, 0u);
    combiner_.hits = 0;
  }

  const ShardKernels<Key, Words>& kernels_;
  std::uint32_t k_;
  StoredFlankedFormat<Words> format_;
  SortedBuckets<Key> buckets_, by_group_;    ///< of hashes and of keys
  std::unique_ptr<HashCounter<Key>> table_;  ///< null: hashes stay in the list until all are there
  Combiner<Words> combiner_{};
  ShardArrays<Key> arrays_;
  HashList<Key> list_{};  ///< in arrays_
  bool combining_ = true, combining_pays_ = true;
  std::uint32_t untried_ = 0;  ///< shards since combining was tried
  std::size_t most_listed_ = kMostListed;
  std::uint64_t words_ = 0;       ///< of this shard, about
  std::uint64_t seen_ = 0;        ///< words that went to the combiner
  std::uint64_t drained_at_ = 0;  ///< those before it was emptied
  // The numbers that the shard before had.
  double distinct_per_word_ = 2;
  std::size_t last_distinct_ = 0;
  Carries<Key> carries_;
  std::size_t size_ = 0;
  Scratch<std::uint32_t> combiner_counts_, evicted_counts_;
  Scratch<Word> combiner_words_, evicted_, cleared_;
};

}  // namespace warpmer::cpu
