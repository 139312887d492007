#pragma once
/// The live table of a shard, in which counts go up and down: a slab hash (table/slab_hash.h) that one thread
/// owns, and beside it what counts have beyond 32 bits, and the key that a table takes for none. One per
/// thread; its memory is reused.

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "cpu/scratch.h"
#include "table/slab_hash.h"

namespace warpmer::cpu {

template <class Key>
class ShardTable {
  using Slab = table::CountSlab<Key>;
  using Tile = table::SerialTile<Key, Slab::kSlots>;
  using Units = table::ContiguousUnits<Slab>;
  using Table = table::SlabHash<Tile, Units, table::OrderedBucket<Key>>;

 public:
  /// Keys are hashes of k-mers of 2k bits.
  explicit ShardTable(std::uint32_t k) : key_bits_(2 * k) { reset(0); }
  ShardTable(const ShardTable&) = delete;
  ShardTable& operator=(const ShardTable&) = delete;

  /// What a table for so many keys holds, and the arrays they are harvested into.
  static std::uint64_t bytes_for(std::uint64_t most_keys) {
    // Scratch rounds up to powers of two.
    return 2 * ((buckets_for(most_keys) + units_for(most_keys)) * sizeof(Slab) +
                most_keys * (sizeof(Key) + sizeof(std::uint64_t)));
  }

  /// Empties the table, and makes room for so many keys.
  void reset(std::uint64_t most_keys) {
    const auto buckets = static_cast<std::uint32_t>(buckets_for(most_keys));
    const std::uint64_t units = units_for(most_keys);
    Slab* slabs = slabs_.get(buckets + units);
    for (std::uint64_t i = 0; i < buckets + units; ++i) table::make_empty(slabs[i]);
    const std::size_t words = std::size_t{table::blocks_for(units)} * table::kBitmapWords;
    std::uint32_t* bitmaps = bitmaps_.get(words);
    for (std::size_t i = 0; i < words; ++i) bitmaps[i] = table::bitmap_at_first(units, i);
    alloc_state_ = {};
    table_.emplace(slabs, table::OrderedBucket<Key>(buckets, key_bits_),
                   table::SlabAlloc(Units(bitmaps, slabs + buckets, units), &alloc_state_));
    resident_ = table_->resident(kTile, 0);
    beyond_.clear();
    empty_key_count_ = 0;
    most_keys_ = most_keys;
  }

  /// Adds `n`, at least 1, to a key's count. The table has been made for as many keys as come.
  void add(Key key, std::uint64_t n) {
    if (key == table::kEmptyKey<Key>) [[unlikely]] {
      empty_key_count_ += n;
    } else if (n <= UINT32_MAX && beyond_.empty()) {
      const table::Insertion done = table_->insert(kTile, resident_, key, static_cast<std::uint32_t>(n));
      if (!done.wrapped) return;
      store(key, (std::uint64_t{1} << 32) + table_->find(kTile, key));
    } else {
      store(key, count(key) + n);
    }
  }

  struct Removal {
    std::uint64_t there, missing;
  };
  /// Takes `n`, at least 1, from a key's count, or all there is, and says how much of `n` was missing.
  Removal remove(Key key, std::uint64_t n) {
    if (key != table::kEmptyKey<Key> && n <= UINT32_MAX && beyond_.empty() &&
        table_->subtract(kTile, key, static_cast<std::uint32_t>(n)).done)
      return {n, 0};
    const std::uint64_t there = count(key);
    if (there == 0) return {0, n};
    store(key, there > n ? there - n : 0);
    return {there, n > there ? n - there : 0};
  }

  /// Puts all keys that are there, with their counts, in increasing order into `keys()` and `counts()`.
  void harvest() {
    Key* keys = keys_.get(most_keys_);
    std::uint64_t* counts = counts_.get(most_keys_);
    size_ = 0;
    for (std::uint32_t bucket = 0; bucket < table_->buckets(); ++bucket) {
      in_bucket_.clear();
      table_->for_each(kTile, bucket, [&](table::Slot<Key> slot) { in_bucket_.push_back(slot); });
      std::sort(in_bucket_.begin(), in_bucket_.end(), [](auto& a, auto& b) { return a.key < b.key; });
      for (const table::Slot<Key>& slot : in_bucket_) {
        keys[size_] = slot.key;
        counts[size_++] = slot.count;
      }
    }
    for (const auto& [key, more] : beyond_) counts[std::lower_bound(keys, keys + size_, key) - keys] += more;
    if (empty_key_count_ == 0) return;
    keys[size_] = table::kEmptyKey<Key>;  // the largest key there is
    counts[size_++] = empty_key_count_;
  }
  // Of the last harvest.
  [[nodiscard]] Key* keys() const { return keys_.data(); }
  [[nodiscard]] std::uint64_t* counts() const { return counts_.data(); }
  [[nodiscard]] std::size_t size() const { return size_; }

  /// Gives back what an unusually large shard needed.
  void trim(std::uint64_t most_bytes) {
    if (slabs_.bytes() + keys_.bytes() + counts_.bytes() <= most_bytes) return;
    slabs_.clear();
    keys_.clear();
    counts_.clear();
    reset(0);
  }

 private:
  static constexpr Tile kTile{};

  /// Slabs are three quarters full when all keys are there, so that few buckets need a second one.
  static std::uint64_t buckets_for(std::uint64_t most_keys) { return most_keys * 4 / (3 * Slab::kSlots) + 1; }
  /// However keys lie: of a bucket's slabs all but the base and the last are full.
  static std::uint64_t units_for(std::uint64_t most_keys) { return most_keys / Slab::kSlots + 1; }

  [[nodiscard]] std::uint64_t count(Key key) const {
    if (key == table::kEmptyKey<Key>) return empty_key_count_;
    const auto more = beyond_.find(key);
    return table_->find(kTile, key) + (more == beyond_.end() ? 0 : more->second);
  }
  /// A count beyond 32 bits is 1 in the table, where 0 would mean that the key is not there, and the rest
  /// here.
  void store(Key key, std::uint64_t count) {
    if (key == table::kEmptyKey<Key>) {
      empty_key_count_ = count;
      return;
    }
    beyond_.erase(key);
    if (count == 0) {
      table_->erase(kTile, key);
      return;
    }
    const bool fits = count <= UINT32_MAX;
    table_->replace(kTile, resident_, key, fits ? static_cast<std::uint32_t>(count) : 1);
    if (!fits) beyond_[key] = count - 1;
  }

  std::uint32_t key_bits_;
  std::uint64_t most_keys_ = 0;
  Scratch<Slab> slabs_;
  Scratch<std::uint32_t> bitmaps_;
  table::SlabAllocState alloc_state_{};
  std::optional<Table> table_;
  table::ResidentBlock resident_{};
  std::map<Key, std::uint64_t> beyond_;
  std::uint64_t empty_key_count_ = 0;
  std::vector<table::Slot<Key>> in_bucket_;
  Scratch<Key> keys_;
  Scratch<std::uint64_t> counts_;
  std::size_t size_ = 0;
};

}  // namespace warpmer::cpu
