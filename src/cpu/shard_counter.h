#pragma once
/// Counting one shard: pending super-k-mers in, distinct k-mers with counts in canonical order out.
/// One per thread; its memory is reused from shard to shard and stays in the core's cache.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "cpu/kernels.h"
#include "cpu/pending_store.h"
#include "cpu/scratch.h"
#include "index/shard_codec.h"

namespace warpmer::cpu {

template <class Key, int Words>
class ShardCounter {
 public:
  ShardCounter(const Kernels& kernels, std::uint32_t k, bool canonical)
      : kernels_(kernels.shard<Key, Words>()), k_(k), canonical_(canonical) {
    table_.key_bits = 2 * k;
    table_.homeless = homeless_.get(CountingTable<Key>::kListCapacity);
    table_.homeless_counts = homeless_counts_.get(CountingTable<Key>::kListCapacity);
    table_.carries = carries_.get(CountingTable<Key>::kListCapacity);
    const std::size_t capacity = std::size_t{Combiner<Words>::kWays} << kMaxSetBits;
    combiner_.words = combiner_words_.get(capacity);
    combiner_.counts = combiner_counts_.get(capacity);
    std::fill_n(combiner_.counts, capacity, 0u);
    evicted_.get(kTakenWords);
    evicted_counts_.get(kTakenWords);
    buckets_.sort = [](Key* first, Key* last) { std::sort(first, last); };
  }

  /// Counts a list of words and adds the entries of a frozen run, if there is one. The result is in
  /// `keys()`, `counts()`, `size()` until the next call.
  void count(const PendingList<Words>& list, const index::FrozenShard* run) {
    begin(list.size());
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
    if (placing_) {
      reduce();
    } else {
      harvest();
    }
    remember(list.size());
    for (const auto& [key, carry] : carried_)
      counts()[std::lower_bound(keys(), keys() + size_, key) - keys()] += carry;
    if (run != nullptr && run->shape.entries > 0) merge_run(*run);
  }

  [[nodiscard]] Key* keys() const { return keys_.data(); }
  [[nodiscard]] std::uint64_t* counts() const { return counts_.data(); }
  [[nodiscard]] std::size_t size() const { return size_; }

  [[nodiscard]] std::uint64_t memory_bytes() const {
    return slot_keys_.bytes() + slot_counts_.bytes() + combiner_words_.bytes() + combiner_counts_.bytes() +
           keys_.bytes() + counts_.bytes() + weights_.bytes() + placed_.bytes() + ends_.bytes() +
           stray_keys_.bytes() + stray_counts_.bytes() + merged_keys_.bytes() + merged_counts_.bytes();
  }

  /// Gives back what an unusually large shard needed.
  void trim(std::uint64_t most_bytes) {
    if (memory_bytes() <= most_bytes) return;
    slot_keys_.clear();
    slot_counts_.clear();
    keys_.clear();
    counts_.clear();
    weights_.clear();
    placed_.clear();
    ends_.clear();
    stray_keys_.clear();
    stray_counts_.clear();
    merged_keys_.clear();
    merged_counts_.clear();
    order_ = std::vector<std::pair<Key, std::uint64_t>>();
  }

 private:
  static constexpr std::uint32_t kMaxSetBits = 11;
  static constexpr std::uint64_t kTrialWords = 2048;
  /// Where combining did not pay, every so many shards it is tried again, and in every large one.
  static constexpr std::uint32_t kShardsUntried = 16;
  static constexpr std::uint64_t kAlwaysTriedWords = 16 * kTrialWords;
  /// A combiner count stays below 2^32 when it is emptied this often.
  static constexpr std::uint64_t kDrainWords = std::uint64_t{1} << 31;
  /// Words expanded at a time; more than a page or what is thrown out of the combiner for one.
  static constexpr std::size_t kTakenWords = 256;
  static_assert(PendingPage<Words>::kCapacity < kTakenWords);
  static constexpr int kWindow = kTableWindow<Key>;
  static constexpr std::size_t kFirstDistinct = std::size_t{1} << 16;
  static constexpr std::uint32_t kMaxWindowBits = 31;  // window numbers are 32-bit
  /// More hashes than this, or more than so many for each distinct one, take a table.
  static constexpr std::size_t kMostPlaced = std::size_t{1} << 20;
  static constexpr double kMostRepeated = 4;
  /// Entries in a bucket: between half of this and all of it.
  static constexpr std::size_t kBucketEntries = 6;
  static constexpr std::uint32_t kLeastBucketBits = 8;  // so that there is room for weights

  void begin(std::uint64_t words) {
    carried_.clear();
    combiner_.set_bits = std::clamp<std::uint32_t>(
        static_cast<std::uint32_t>(std::bit_width(words / Combiner<Words>::kWays)), 1, kMaxSetBits);
    combiner_.hits = 0;
    combining_ = combining_pays_ || words >= kAlwaysTriedWords || ++untried_ >= kShardsUntried;
    if (combining_) untried_ = 0;
    hashes_ = 0;
    list_.size = 0;
    list_.weights_or = 0;
    placing_ = repeated_ < kMostRepeated &&
               static_cast<double>(words) * hashes_per_word_ < static_cast<double>(kMostPlaced);
    if (!placing_) {
      // Words that are many because they repeat need no large table, and one that is too small grows.
      reset_table(std::min(static_cast<double>(words) * distinct_per_word_,
                           static_cast<double>(std::max(kFirstDistinct, 2 * last_distinct_))));
    }
  }

  /// What the next shard may expect.
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
    list_.keys = keys_.grow(room, list_.size);
    list_.weights = weights_.grow(room, list_.size);
    const std::size_t before = list_.size;
    kernels_.append(words, counts, n, k_, canonical_, list_);
    hashes_ += list_.size - before;
    if (placing_ && list_.size > kMostPlaced) {
      placing_ = false;
      reset_table(estimated_distinct());
    }
    if (!placing_) insert();
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

  // --- In buckets: for most shards, what comes once or a few times is sorted sooner than looked up.

  void reduce() {
    const std::size_t n = list_.size;
    const std::uint32_t key_bits = 2 * k_;
    buckets_.bits =
        std::max(kLeastBucketBits, static_cast<std::uint32_t>(std::bit_width(n / kBucketEntries)));
    buckets_.rest_bits = key_bits - buckets_.bits;
    buckets_.weight_bits = std::min(32u, kKeyBits<Key> - buckets_.rest_bits);
    if (std::uint64_t{list_.weights_or} >> buckets_.weight_bits != 0) carry_weights();
    buckets_.entries = placed_.get(n + 8);
    buckets_.ends = ends_.get(std::size_t{1} << buckets_.bits);
    kernels_.place(list_, buckets_);
    size_ = kernels_.reduce(buckets_, keys_.grow(n + 8, 0), counts_.get(n + 8));
  }

  /// Weights that an entry of a bucket has no room for are kept aside, but for 1.
  void carry_weights() {
    for (std::size_t i = 0; i < list_.size; ++i) {
      if (std::uint64_t{list_.weights[i]} >> buckets_.weight_bits == 0) continue;
      carried_[list_.keys[i]] += list_.weights[i] - 1;
      list_.weights[i] = 1;
    }
  }

  // --- In a table: for shards that are large, or in which k-mers repeat very often.

  /// How many distinct hashes the list holds, about: however often each comes, the smallest ones are a fair
  /// sample of them.
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

  /// Makes an empty table for so many k-mers, at a load below 0.65.
  void reset_table(double distinct) {
    const double expected = distinct / 0.65;
    std::uint32_t bits = std::bit_width(2 * kInsertKeys / kWindow) - 1;  // room for one insertion at least
    while (bits < kMaxWindowBits && static_cast<double>(std::uint64_t{kWindow} << bits) < expected) ++bits;
    allocate(std::min(bits, table_.key_bits));
    table_.empty_key_count = 0;
    table_.carries_size = 0;
  }

  void allocate(std::uint32_t window_bits) {
    const std::size_t slots = std::size_t{kWindow} << window_bits;
    table_.slots = {slot_keys_.get(slots), slot_counts_.get(slots)};
    table_.window_bits = window_bits;
    table_.size = 0;
    table_.limit = slots - slots / 4;
    table_.homeless_size = 0;
    std::memset(table_.slots.keys, 0xFF, slots * sizeof(Key));
    std::memset(table_.slots.counts, 0, slots * sizeof(std::uint32_t));
  }

  /// Inserts what is in the list, and empties it.
  void insert() {
    for (std::size_t done = 0; (done = kernels_.insert(table_, list_, done)) < list_.size;) make_room();
    list_.size = 0;
  }

  void make_room() {
    move_carries();
    if (table_.homeless_size > 0 || table_.size + kInsertKeys > table_.limit) grow();
  }

  void move_carries() {
    for (std::size_t i = 0; i < table_.carries_size; ++i)
      carried_[table_.carries[i]] += std::uint64_t{1} << 32;
    table_.carries_size = 0;
  }

  /// Rebuilds the table at twice the size, as often as it takes for every key to find a place.
  void grow() {
    Scratch<Key> old_keys;
    Scratch<std::uint32_t> old_counts;
    for (bool placed = false; !placed;) {
      old_keys.swap(slot_keys_);
      old_counts.swap(slot_counts_);
      CountingTable<Key> old = table_;
      std::vector<Key> keys(old.homeless, old.homeless + old.homeless_size);
      std::vector<std::uint32_t> counts(old.homeless_counts, old.homeless_counts + old.homeless_size);
      allocate(std::min(table_.window_bits + 1, table_.key_bits));
      kernels_.rehash(old, keys.data(), counts.data(), keys.size(), table_);
      placed = table_.homeless_size == 0;
    }
  }

  /// Table to sorted arrays: the windows' own entries come out in order, strays are merged in from the
  /// back.
  void harvest() {
    if (table_.homeless_size > 0) grow();
    move_carries();
    const std::size_t room = table_.size + kWindow + 1;
    Key* keys = keys_.get(room);
    std::uint64_t* counts = counts_.get(room);
    Key* stray_keys = stray_keys_.get(room);
    std::uint64_t* stray_counts = stray_counts_.get(room);
    std::size_t strays = kernels_.harvest(table_, keys, counts, stray_keys, stray_counts);
    sort_strays(strays);
    std::size_t at_home = table_.size - strays;
    for (size_ = table_.size; strays > 0; --size_) {
      const bool stray = at_home == 0 || keys[at_home - 1] < stray_keys[strays - 1];
      keys[size_ - 1] = stray ? stray_keys[strays - 1] : keys[at_home - 1];
      counts[size_ - 1] = stray ? stray_counts[strays - 1] : counts[at_home - 1];
      --(stray ? strays : at_home);
    }
    size_ = table_.size;
    if (table_.empty_key_count > 0) {  // the largest key there is
      keys[size_] = table::kEmptyKey<Key>;
      counts[size_++] = table_.empty_key_count;
    }
  }

  void sort_strays(std::size_t n) {
    order_.resize(n);
    for (std::size_t i = 0; i < n; ++i) order_[i] = {stray_keys_.data()[i], stray_counts_.data()[i]};
    std::sort(order_.begin(), order_.end());
    for (std::size_t i = 0; i < n; ++i) {
      stray_keys_.data()[i] = order_[i].first;
      stray_counts_.data()[i] = order_[i].second;
    }
  }

  void merge_run(const index::FrozenShard& run) {
    const std::size_t room = size_ + run.shape.entries;
    Key* keys = merged_keys_.get(room);
    std::uint64_t* counts = merged_counts_.get(room);
    std::size_t at = 0, out = 0;
    const index::ShardView view{run.shape, run.payload.data(), run.payload.size()};
    index::ShardReader<Key>(view, k_).for_each([&](Key key, std::uint64_t count) {
      for (; at < size_ && keys_.data()[at] < key; ++at, ++out) {
        keys[out] = keys_.data()[at];
        counts[out] = counts_.data()[at];
      }
      keys[out] = key;
      counts[out] = count;
      if (at < size_ && keys_.data()[at] == key) counts[out] += counts_.data()[at++];
      ++out;
    });
    for (; at < size_; ++at, ++out) {
      keys[out] = keys_.data()[at];
      counts[out] = counts_.data()[at];
    }
    size_ = out;
    keys_.swap(merged_keys_);
    counts_.swap(merged_counts_);
  }

  const ShardKernels<Key, Words>& kernels_;
  std::uint32_t k_;
  bool canonical_;
  CountingTable<Key> table_{};
  Combiner<Words> combiner_{};
  HashList<Key> list_{};  ///< in keys_ and weights_
  Buckets<Key> buckets_{};
  bool combining_ = true, combining_pays_ = true;
  std::uint32_t untried_ = 0;  ///< shards since combining was tried
  bool placing_ = true;
  std::uint64_t hashes_ = 0;  ///< expanded from this shard's words
  // What the shard before had.
  double hashes_per_word_ = 2, distinct_per_word_ = 2, repeated_ = 1;
  std::size_t last_distinct_ = 0;
  std::map<Key, std::uint64_t> carried_;  ///< what counts owe beyond 32 bits
  std::size_t size_ = 0;
  Scratch<Key> slot_keys_, keys_, placed_, stray_keys_, merged_keys_, homeless_, carries_;
  Scratch<std::uint32_t> slot_counts_, homeless_counts_, combiner_counts_, evicted_counts_, weights_, ends_;
  Scratch<std::uint64_t> counts_, stray_counts_, merged_counts_;
  Scratch<SuperKmer<Words>> combiner_words_, evicted_;
  std::vector<std::pair<Key, std::uint64_t>> order_;
};

}  // namespace warpmer::cpu
