#pragma once
/// Counting one shard: pending super-k-mers in, distinct k-mers with counts in canonical order out.
/// One per thread; its memory is reused from shard to shard and stays in the core's cache.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "cpu/kernels.h"
#include "cpu/pending_store.h"
#include "index/shard_codec.h"

namespace warpmer::cpu {

/// Memory that is not initialised and only grows.
template <class T>
class Scratch {
 public:
  /// Room for `n` elements; what was there is lost when it grows.
  T* get(std::size_t n) {
    if (n > capacity_) {
      data_.reset();
      capacity_ = std::bit_ceil(n);
      data_.reset(static_cast<T*>(::operator new[](capacity_ * sizeof(T), std::align_val_t{64})));
    }
    return data_.get();
  }
  [[nodiscard]] T* data() const { return data_.get(); }
  [[nodiscard]] std::uint64_t bytes() const { return capacity_ * sizeof(T); }
  /// Gives the memory back.
  void clear() {
    data_.reset();
    capacity_ = 0;
  }
  void swap(Scratch& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(capacity_, other.capacity_);
  }

 private:
  struct Free {
    void operator()(T* p) const { ::operator delete[](p, std::align_val_t{64}); }
  };
  std::unique_ptr<T[], Free> data_;
  std::size_t capacity_ = 0;
};

template <class Key, int Words>
class ShardCounter {
 public:
  ShardCounter(const Kernels& kernels, std::uint32_t k, bool canonical)
      : kernels_(kernels.shard<Key, Words>()), k_(k), canonical_(canonical) {
    table_.key_bits = 2 * k;
    table_.homeless = homeless_.get(CountingTable<Key>::kListCapacity);
    table_.homeless_counts = homeless_counts_.get(CountingTable<Key>::kListCapacity);
    table_.carries = carries_.get(CountingTable<Key>::kListCapacity);
    combiner_.words = combiner_words_.get(std::size_t{Combiner<Words>::kWays} << kMaxSetBits);
    combiner_.counts = combiner_counts_.get(std::size_t{Combiner<Words>::kWays} << kMaxSetBits);
  }

  /// Counts a list of words and adds the entries of a frozen run, if there is one. The result is in
  /// `keys()`, `counts()`, `size()` until the next call.
  void count(const PendingList<Words>& list, const index::FrozenShard* run) {
    const std::uint64_t words = list.size();
    reset(words);
    bool combining = true;
    std::uint64_t seen = 0;
    list.for_each_page([&](const SuperKmer<Words>* page, std::size_t n) {
      if (!combining) return deposit(page, nullptr, n);
      combine(page, n);
      seen += n;
      // Where words hardly repeat, the combiner only costs.
      if (seen - drained_at_ >= kTrialWords && combiner_.hits * 8 < seen - drained_at_ && seen < words) {
        combining = false;
        drain();
      } else if (seen - drained_at_ >= kDrainWords) {
        drain();
        drained_at_ = seen;
      }
    });
    drain();
    if (words > 0) distinct_per_word_ = static_cast<double>(table_.size) / static_cast<double>(words);
    last_distinct_ = table_.size;
    harvest();
    if (run != nullptr && run->shape.entries > 0) merge_run(*run);
  }

  [[nodiscard]] Key* keys() const { return keys_.data(); }
  [[nodiscard]] std::uint64_t* counts() const { return counts_.data(); }
  [[nodiscard]] std::size_t size() const { return size_; }

  [[nodiscard]] std::uint64_t memory_bytes() const {
    return slot_keys_.bytes() + slot_counts_.bytes() + combiner_words_.bytes() + combiner_counts_.bytes() +
           keys_.bytes() + counts_.bytes() + stray_keys_.bytes() + stray_counts_.bytes() +
           merged_keys_.bytes() + merged_counts_.bytes();
  }

  /// Gives back what an unusually large shard needed.
  void trim(std::uint64_t most_bytes) {
    if (memory_bytes() <= most_bytes) return;
    slot_keys_.clear();
    slot_counts_.clear();
    keys_.clear();
    counts_.clear();
    stray_keys_.clear();
    stray_counts_.clear();
    merged_keys_.clear();
    merged_counts_.clear();
  }

 private:
  static constexpr std::uint32_t kMaxSetBits = 11;
  static constexpr std::uint64_t kTrialWords = 2048;
  /// A combiner count stays below 2^32 when it is emptied this often.
  static constexpr std::uint64_t kDrainWords = std::uint64_t{1} << 31;
  static constexpr int kWindow = kTableWindow<Key>;
  static constexpr std::size_t kFirstDistinct = std::size_t{1} << 16;
  static constexpr std::uint32_t kMaxWindowBits = 31;  // window numbers are 32-bit
  /// What a kernel inserts between two looks at the table's size.
  static constexpr std::size_t kGroupKeys = 8 * SuperKmer<Words>::kMaxKmers;

  void reset(std::uint64_t words) {
    // Wanted: a load below 0.65 for as many k-mers per word as the shard before had; but words that are
    // many because they repeat need no large table, and one that is too small grows.
    const double distinct = std::min(static_cast<double>(words) * distinct_per_word_,
                                     static_cast<double>(std::max(kFirstDistinct, 2 * last_distinct_)));
    const double expected = distinct / 0.65;
    std::uint32_t bits = std::bit_width(2 * kGroupKeys / kWindow) - 1;  // room for one group at least
    while (bits < kMaxWindowBits && static_cast<double>(std::uint64_t{kWindow} << bits) < expected) ++bits;
    allocate(std::min(bits, table_.key_bits));
    table_.empty_key_count = 0;
    table_.carries_size = 0;
    carried_.clear();
    combiner_.set_bits = std::clamp<std::uint32_t>(
        static_cast<std::uint32_t>(std::bit_width(words / Combiner<Words>::kWays)), 1, kMaxSetBits);
    combiner_.hits = 0;
    drained_at_ = 0;
    std::fill_n(combiner_.counts, std::size_t{Combiner<Words>::kWays} << combiner_.set_bits, 0u);
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

  void combine(const SuperKmer<Words>* words, std::size_t n) {
    for (std::size_t done = 0;;) {
      done += kernels_.combine(table_, combiner_, words + done, n - done, k_, canonical_);
      if (done == n) return;
      make_room();
    }
  }

  void deposit(const SuperKmer<Words>* words, const std::uint32_t* weights, std::size_t n) {
    for (std::size_t done = 0;;) {
      done += kernels_.deposit(table_, words + done, weights == nullptr ? nullptr : weights + done, n - done,
                               k_, canonical_);
      if (done == n) return;
      make_room();
    }
  }

  /// Empties the combiner into the table.
  void drain() {
    const std::size_t capacity = std::size_t{Combiner<Words>::kWays} << combiner_.set_bits;
    std::size_t used = 0;
    for (std::size_t i = 0; i < capacity; ++i) {
      combiner_.words[used] = combiner_.words[i];
      combiner_.counts[used] = combiner_.counts[i];
      used += combiner_.counts[i] != 0 ? 1 : 0;
    }
    deposit(combiner_.words, combiner_.counts, used);
    std::fill_n(combiner_.counts, capacity, 0u);
    combiner_.hits = 0;
    if (table_.homeless_size > 0) grow();
  }

  void make_room() {
    move_carries();
    if (table_.homeless_size > 0 || table_.size + kGroupKeys > table_.limit) grow();
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
    for (const auto& [key, carry] : carried_)
      counts[std::lower_bound(keys, keys + size_, key) - keys] += carry;
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
  std::uint64_t drained_at_ = 0;
  double distinct_per_word_ = 2;
  std::size_t last_distinct_ = 0;
  std::map<Key, std::uint64_t> carried_;  ///< what counts owe beyond 32 bits
  std::size_t size_ = 0;
  Scratch<Key> slot_keys_, keys_, stray_keys_, merged_keys_, homeless_, carries_;
  Scratch<std::uint32_t> slot_counts_, homeless_counts_, combiner_counts_;
  Scratch<std::uint64_t> counts_, stray_counts_, merged_counts_;
  Scratch<SuperKmer<Words>> combiner_words_;
  std::vector<std::pair<Key, std::uint64_t>> order_;
};

}  // namespace warpmer::cpu
