#pragma once
/// Counting one shard: pending super-k-mers in, distinct k-mers with counts in canonical order out.
/// One per thread; its memory is reused from shard to shard and stays in the core's cache.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "backend/count_table.h"
#include "base/error.h"
#include "cpu/count/hash_counter.h"
#include "cpu/count/packed_counter.h"
#include "cpu/count/pending_store.h"
#include "cpu/count/scheme_counters.h"
#include "cpu/count/sorted_buckets.h"
#include "cpu/count/window_counter.h"
#include "cpu/memory/scratch.h"
#include "cpu/simd/kernels.h"
#include "index/shard_codec.h"

namespace warpmer::cpu {

template <class Key, int Words>
class ShardCounter {
 public:
  ShardCounter(const Kernels& kernels, std::uint32_t k, bool canonical,
               backend::CountTable which = backend::CountTable::automatic)
      : kernels_(kernels.shard<Key, Words>()),
        k_(k),
        canonical_(canonical),
        which_(which),
        buckets_(kernels_, k),
        table_(make_table(kernels)) {
    const std::size_t capacity = std::size_t{Combiner<Words>::kWays} << kMaxSetBits;
    combiner_.words = combiner_words_.get(capacity);
    combiner_.counts = combiner_counts_.get(capacity);
    std::fill_n(combiner_.counts, capacity, 0u);
    evicted_.get(kTakenWords);
    evicted_counts_.get(kTakenWords);
  }

  /// Counts words, of which `list` says how many they are (size), about, and gives some at a time
  /// (for_each_page), at most as many as a page has. The result is in `keys()`, `counts()`, `size()` until
  /// the next call.
  template <class WordList>
  void count(WordList&& list) {
    const std::uint64_t words = list.size();
    begin(words);
    most_listed_ = kMostListed;
    listing_ = is_to_be_listed(words);
    if (!listing_) {
      // Words that are many because they repeat need no large table, and one that is too small grows.
      table_->reset(std::min(static_cast<double>(words) * distinct_per_word_,
                             static_cast<double>(std::max(kFirstDistinct, 2 * last_distinct_))));
    }
    expand(list);
    end();
    remember(words);
  }

  /// Counts, of all that a shard has, the k-mers whose hashes are `first` or more, and `last` or less, or
  /// only those with the smallest of these hashes: as many as can be counted in a list of `room` hashes, and
  /// at least three eighths of that. Returns the last hash up to which all have been counted. `list` is as in
  /// `count`; `add_runs` is to call `add` with what frozen runs the shard has. The result is where `count`
  /// has it.
  template <class WordList, class AddRuns>
  Key count_range(Key first, Key last, std::size_t room, WordList&& list, AddRuns&& add_runs) {
    begin(list.size());
    range_ = {true, first, last};
    most_listed_ = std::clamp(room, kLeastRoom, SortedBuckets<Key>::kMostHashes / 2);
    listing_ = true;
    // At once: a list that grows is there twice.
    arrays_.keys.get(most_listed_ + kTakenWords * SuperKmer<Words>::kMaxKmers + 8);
    arrays_.weights.get(most_listed_ + kTakenWords * SuperKmer<Words>::kMaxKmers + 8);
    expand(list);
    add_runs();
    end();
    range_.is_set = false;
    return range_.last;
  }

  /// Adds, within `count_range`, the entries of a frozen run.
  void add(const index::FrozenShard& run) {
    list_.keys = arrays_.keys.data();
    list_.weights = arrays_.weights.data();
    const index::ShardView view{run.shape, run.payload.data(), run.payload.size()};
    const index::ShardReader<Key> reader(view, k_);
    reader.for_each_near(range_.first, range_.last, [&](Key key, std::uint64_t count) {
      if (key < range_.first || key > range_.last) return;
      append(key, count);
      if (list_.size > most_listed_) shorten_list();
    });
  }

  /// Adds the entries of a frozen run to the result.
  void merge(const index::FrozenShard& run) {
    if (run.shape.entries == 0) return;
    const std::size_t room = size_ + run.shape.entries;
    Key* keys = merged_keys_.get(room);
    std::uint64_t* counts = merged_counts_.get(room);
    const Key* mine = arrays_.keys.data();
    const std::uint64_t* my_counts = arrays_.counts.data();
    std::size_t at = 0, out = 0;
    const index::ShardView view{run.shape, run.payload.data(), run.payload.size()};
    index::ShardReader<Key>(view, k_).for_each([&](Key key, std::uint64_t count) {
      for (; at < size_ && mine[at] < key; ++at, ++out) {
        keys[out] = mine[at];
        counts[out] = my_counts[at];
      }
      keys[out] = key;
      counts[out] = count;
      if (at < size_ && mine[at] == key) counts[out] += my_counts[at++];
      ++out;
    });
    for (; at < size_; ++at, ++out) {
      keys[out] = mine[at];
      counts[out] = my_counts[at];
    }
    size_ = out;
    arrays_.keys.swap(merged_keys_);
    arrays_.counts.swap(merged_counts_);
  }

  [[nodiscard]] Key* keys() const { return arrays_.keys.data(); }
  [[nodiscard]] std::uint64_t* counts() const { return arrays_.counts.data(); }
  [[nodiscard]] std::size_t size() const { return size_; }

  [[nodiscard]] std::uint64_t memory_bytes() const {
    return arrays_.keys.bytes() + arrays_.weights.bytes() + arrays_.counts.bytes() + combiner_words_.bytes() +
           combiner_counts_.bytes() + buckets_.memory_bytes() + (table_ ? table_->memory_bytes() : 0) +
           merged_keys_.bytes() + merged_counts_.bytes();
  }

  /// Gives back what an unusually large shard needed.
  void trim(std::uint64_t most_bytes) {
    if (memory_bytes() <= most_bytes) return;
    arrays_.keys.clear();
    arrays_.weights.clear();
    arrays_.counts.clear();
    buckets_.clear();
    if (table_) table_->clear();
    merged_keys_.clear();
    merged_counts_.clear();
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
  static_assert(PendingPage<SuperKmer<Words>>::kCapacity < kTakenWords);
  static constexpr std::size_t kFirstDistinct = std::size_t{1} << 16;
  /// Unless a table was asked for by name, more hashes than this, or more than so many for each distinct one,
  /// take a table; fewer are listed and sorted. Where k-mers hardly repeat a table costs a genome 15 % more;
  /// 1.5 or 3 instead of 2 differ less.
  static constexpr std::size_t kMostListed = std::size_t{1} << 20;
  static constexpr double kMostRepeated = 2;

  /// Makes the table; none where everything is listed.
  std::unique_ptr<HashCounter<Key>> make_table(const Kernels& kernels) {
    if (which_ == backend::CountTable::hashgraph) return nullptr;
    if (auto counter = make_scheme_counter(which_, kernels, k_, buckets_)) return counter;
    if constexpr (sizeof(Key) == 8) {
      if (which_ == backend::CountTable::automatic)
        return std::make_unique<PackedCounter>(kernels.packed, kernels_, k_);
    }
    return std::make_unique<WindowCounter<Key>>(kernels_, k_);
  }

  /// The hashes that `count_range` counts.
  struct PassRange {
    bool is_set = false;
    Key first = 0, last = 0;
  };
  /// A range is counted in a list of so many hashes at least.
  static constexpr std::size_t kLeastRoom = std::size_t{1} << 12;

  void begin(std::uint64_t words) {
    carries_.clear();
    combiner_.set_bits = std::clamp<std::uint32_t>(
        static_cast<std::uint32_t>(std::bit_width(words / Combiner<Words>::kWays)), 1, kMaxSetBits);
    combiner_.hits = 0;
    combining_ = combining_pays_ || words >= kAlwaysTriedWords || ++untried_ >= kShardsUntried;
    if (combining_) untried_ = 0;
    hashes_ = 0;
    list_.size = 0;
    list_.weights_or = 0;
  }

  template <class WordList>
  void expand(WordList&& list) {
    std::uint64_t seen = 0, drained_at = 0;
    list.for_each_page([&](const SuperKmer<Words>* page, std::size_t n) {
      if (!combining_) return take(page, nullptr, n);
      take(evicted_.data(), evicted_counts_.data(),
           kernels_.combine(combiner_, page, n, evicted_.data(), evicted_counts_.data()));
      seen += n;
      const std::uint64_t undrained = seen - drained_at;
      combining_pays_ = combiner_.hits * 8 >= undrained || undrained < kTrialWords;
      if (combining_pays_ && undrained < kDrainWords) return;
      drain();
      drained_at = seen;
      combining_ = combining_pays_;
    });
    if (combining_) drain();
  }

  void end() {
    size_ = listing_ ? buckets_.reduce(list_, arrays_, carries_) : table_->harvest(arrays_, carries_);
    for (const auto& [key, carry] : carries_)
      counts()[std::lower_bound(keys(), keys() + size_, key) - keys()] += carry;
  }

  [[nodiscard]] bool is_to_be_listed(std::uint64_t words) const {
    if (which_ != backend::CountTable::automatic) return which_ == backend::CountTable::hashgraph;
    return repeated_ < kMostRepeated &&
           static_cast<double>(words) * hashes_per_word_ < static_cast<double>(kMostListed);
  }

  /// Remembers what the next shard may expect.
  void remember(std::uint64_t words) {
    if (words == 0 || size_ == 0) return;
    hashes_per_word_ = static_cast<double>(hashes_) / static_cast<double>(words);
    distinct_per_word_ = static_cast<double>(size_) / static_cast<double>(words);
    repeated_ = static_cast<double>(hashes_) / static_cast<double>(size_);
    last_distinct_ = size_;
  }

  /// Expands words, each with its count, and passes the hashes on.
  void take(const SuperKmer<Words>* words, const std::uint32_t* counts, std::size_t n) {
    const std::size_t room = list_.size + n * SuperKmer<Words>::kMaxKmers + 8;
    list_.keys = arrays_.keys.grow(room, list_.size);
    list_.weights = arrays_.weights.grow(room, list_.size);
    const std::size_t before = list_.size;
    kernels_.append(words, counts, n, k_, canonical_, list_);
    hashes_ += list_.size - before;
    if (range_.is_set) keep_range(before);
    if (listing_) {
      if (list_.size <= most_listed_) return;
      if (range_.is_set || which_ == backend::CountTable::hashgraph) return shorten_list();
      listing_ = false;
      table_->reset(estimated_distinct());
    }
    table_->insert(list_, carries_);
    list_.size = 0;
  }

  /// Puts distinct hashes, with their counts, in the place of all that have been listed: so the list needs
  /// memory for what is distinct, at most twice, however much comes.
  void shorten_list() {
    size_ = buckets_.reduce(list_, arrays_, carries_);
    if (range_.is_set) {
      narrow_range();
    } else if (size_ > SortedBuckets<Key>::kMostHashes / 2) {
      throw ResourceError(
          "a shard has more than 2^30 distinct k-mers, which --table hashgraph cannot sort; "
          "use another table");
    }
    list_.keys = arrays_.keys.data();
    list_.weights = arrays_.weights.grow(size_, 0);
    list_.weights_or = 0;
    list_.size = 0;
    for (std::size_t i = 0; i < size_; ++i) append(keys()[i], counts()[i]);
    if (!range_.is_set) most_listed_ = std::max(kMostListed, 2 * size_);
  }

  /// Appends a hash to the list, in which there is room.
  void append(Key key, std::uint64_t count) {
    const auto weight = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, UINT32_MAX));
    if (count > weight) carries_[key] += count - weight;
    list_.keys[list_.size] = key;
    list_.weights[list_.size++] = weight;
    list_.weights_or |= weight;
  }

  /// Leaves, of the hashes listed from `begin` on, those in the range. It does so without a branch: which
  /// they are is not to be predicted.
  void keep_range(std::size_t begin) {
    const Key width = range_.last - range_.first;
    std::size_t kept = begin;
    for (std::size_t i = begin; i < list_.size; ++i) {
      const Key key = list_.keys[i];
      list_.keys[kept] = key;
      list_.weights[kept] = list_.weights[i];
      kept += static_cast<Key>(key - range_.first) <= width ? 1 : 0;
    }
    list_.size = kept;
  }

  /// Gives up the larger half of the list, for a later range, if what is distinct fills three quarters of it.
  void narrow_range() {
    if (size_ < most_listed_ / 4 * 3) return;
    size_ /= 2;
    range_.last = keys()[size_] - 1;
    carries_.erase(carries_.upper_bound(range_.last), carries_.end());
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

  /// Returns how many distinct hashes the list holds, about: however often each comes, the smallest ones are
  /// a fair sample of them.
  double estimated_distinct() {
    constexpr int kSampleBits = 8;
    const Key end_of_sample = key_mask<Key>(k_) >> kSampleBits;
    std::vector<Key> sample;
    for (std::size_t i = 0; i < list_.size; ++i) {
      if (list_.keys[i] <= end_of_sample) sample.push_back(list_.keys[i]);
    }
    std::sort(sample.begin(), sample.end());
    return static_cast<double>((std::unique(sample.begin(), sample.end()) - sample.begin()) << kSampleBits);
  }

  const ShardKernels<Key, Words>& kernels_;
  std::uint32_t k_;
  bool canonical_;
  backend::CountTable which_;
  SortedBuckets<Key> buckets_;
  std::unique_ptr<HashCounter<Key>> table_;
  Combiner<Words> combiner_{};
  ShardArrays<Key> arrays_;
  HashList<Key> list_{};  ///< in arrays_
  bool combining_ = true, combining_pays_ = true;
  std::uint32_t untried_ = 0;  ///< shards since combining was tried
  bool listing_ = true;        ///< hashes stay in the list until all are there
  std::size_t most_listed_ = kMostListed;
  std::uint64_t hashes_ = 0;  ///< expanded from this shard's words
  // The numbers that the shard before had.
  double hashes_per_word_ = 2, distinct_per_word_ = 2, repeated_ = 1;
  std::size_t last_distinct_ = 0;
  PassRange range_;
  Carries<Key> carries_;
  std::size_t size_ = 0;
  Scratch<Key> merged_keys_;
  Scratch<std::uint32_t> combiner_counts_, evicted_counts_;
  Scratch<std::uint64_t> merged_counts_;
  Scratch<SuperKmer<Words>> combiner_words_, evicted_;
};

}  // namespace warpmer::cpu
