#pragma once
/// Tests every paged table of k-mers (table/child_items.h), wherever its partitions lie. `Children` is a
/// template over the type of keys.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "base/error.h"
#include "kmer/hash.h"
#include "kmer/kmer.h"
#include "kmer/minimizer.h"
#include "paging/paged_table_suite.h"
#include "table/paged_table.h"

namespace warpmer::tests {

/// A table of k-mers, with the map that it has to equal.
template <template <class> class Children, class Key>
class KmerLedger {
 public:
  using Table = table::PagedTable<Children<Key>>;

  KmerLedger(const table::PagedTablePlan& plan, const table::ShardPlace<Key>& place)
      : table(plan, place), place_(place), random_(place.k) {}

  /// Inserts some of the first `kmers` hashes of a sequence, each once, of shards that the table is for; the
  /// last two of 2k bits are among them, but not kEmptyKey.
  void insert(std::size_t n, std::uint32_t kmers) {
    std::map<Key, std::uint32_t> batch;
    for (std::size_t i = 0; i < n; ++i) add_to(batch, hash(random_() % kmers), 1 + random_() % 1000);
    add_to(batch, key_mask<Key>(place_.k) - 1, 3);
    insert(batch);
  }
  /// Inserts so many k-mers of each shard, at once.
  void insert_of_shards(const std::map<std::uint32_t, std::size_t>& wanted) {
    std::map<Key, std::uint32_t> batch;
    for (const auto& [shard, n] : wanted) {
      const std::uint32_t m = minimizer_length(place_.k), mmer = early_minimizer(shard, m);
      const Key last = key_mask<Key>(m);
      for (const std::size_t end = batch.size() + n; batch.size() < end;) {
        // The k-mer ends so that the other strand begins with the minimizer.
        const Key kmer = ((Key{random_()} & ~last) | (~Key{mmer} & last)) & key_mask<Key>(place_.k);
        const Key key = KmerHash<Key>(place_.k)(kmer);
        if (shard_of_hash(key) == shard) add_to(batch, key, 1 + random_() % 1000);
      }
    }
    insert(batch);
  }
  void insert(const std::map<Key, std::uint32_t>& batch) {
    std::vector<table::Slot<Key>> updates;
    for (const auto& [key, count] : batch) {
      updates.push_back({key, count});
      model_[key] += count;
    }
    updates.push_back({table::kEmptyKey<Key>, 5});  // none
    table.insert(updates.data(), updates.size(), true);
    table.flush();
  }
  /// Takes counts of some of the first `kmers` hashes off, each once; more than there is, too.
  void subtract(std::size_t n, std::uint32_t kmers) {
    std::map<Key, std::uint32_t> batch;
    for (std::size_t i = 0; i < n; ++i) add_to(batch, hash(random_() % kmers), 1 + random_() % 1500);
    std::vector<table::Slot<Key>> updates{{table::kEmptyKey<Key>, 5}};  // none
    for (const auto& [key, count] : batch) updates.push_back({key, count});
    table.subtract(updates.data(), updates.size());
    std::size_t wrong = 0;
    for (std::size_t i = 1; i < updates.size(); ++i) {
      const auto there = model_.find(updates[i].key);
      const std::uint64_t had = there == model_.end() ? 0 : there->second, wanted = batch[updates[i].key];
      const std::uint64_t taken = std::min(had, wanted);
      wrong += updates[i].count == wanted - taken ? 0 : 1;
      if (taken > 0) there->second -= taken;
    }
    CHECK(wrong == 0);
  }
  /// Forgets what has a count of 0 in the map, as the table may.
  void drop_removed() {
    std::erase_if(model_, [](const auto& entry) { return entry.second == 0; });
    table.drop_removed();
  }
  void add(Key key, std::uint32_t count) {
    const table::Slot<Key> update{key, count};
    model_[key] += count;
    table.insert(&update, 1, true);
    table.flush();
  }
  void check_all() {
    std::vector<Key> asked;
    for (const auto& [key, count] : model_) {
      asked.push_back(key);
      asked.push_back((key * 3 + 1) & key_mask<Key>(place_.k) & ~Key{1});
    }
    std::vector<std::uint32_t> answers(asked.size(), 77);
    table.find(asked.data(), asked.size(), answers.data());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const auto there = model_.find(asked[i]);
      wrong += answers[i] == (there == model_.end() ? 0 : static_cast<std::uint32_t>(there->second)) ? 0 : 1;
    }
    CHECK(wrong == 0);
  }
  /// Checks that the partitions have all shards, in order, and each has those of its range and nothing else.
  void check_ranges() {
    std::map<std::uint32_t, std::uint64_t> filled;
    for (const auto& [key, count] : model_) ++filled[table.child_of(key)];
    std::uint32_t end = place_.first_shard;
    for (const table::ChildRange& range : table.ranges()) {
      CHECK(place_.shard_at(range.first) == end);
      end = place_.shard_at(range.end);
      CHECK(table.filled(range.child) == filled[range.child]);
    }
    CHECK(end == place_.end_shard);
    for (const auto& [key, count] : model_) {
      const std::uint32_t shard = shard_of_hash(key);
      for (const table::ChildRange& range : table.ranges()) {
        const bool has = place_.shard_at(range.first) <= shard && shard < place_.shard_at(range.end);
        REQUIRE(has == (table.child_of(key) == range.child));
      }
    }
  }
  [[nodiscard]] Key hash(std::uint64_t number) const {
    return static_cast<Key>((Key{number + 1} * 0x9E3779B97F4A7C15u) * 0x9E3779B97F4A7C15u) &
           key_mask<Key>(place_.k);
  }
  [[nodiscard]] bool is_for(Key key) const {
    return place_.first_shard <= shard_of_hash(key) && shard_of_hash(key) < place_.end_shard;
  }

  Table table;

 private:
  void add_to(std::map<Key, std::uint32_t>& batch, Key key, std::uint64_t count) const {
    if (key != table::kEmptyKey<Key> && is_for(key)) batch[key] = static_cast<std::uint32_t>(count);
  }
  /// Returns a minimizer of a shard that comes before nearly all others.
  static std::uint32_t early_minimizer(std::uint32_t shard, std::uint32_t m) {
    for (std::uint32_t mmer = 0;; ++mmer) {
      const std::uint32_t hash = minimizer_hash(mmer);
      if (canonical_mmer(mmer, m) == mmer && hash < UINT32_MAX >> 8 && shard_of(hash, m, kShardBits) == shard)
        return mmer;
    }
  }
  [[nodiscard]] std::uint32_t shard_of_hash(Key key) const {
    return shard_of_kmer(KmerHash<Key>(place_.k).inverse(key), place_.k, place_.is_canonical, kShardBits);
  }

  table::ShardPlace<Key> place_;
  std::mt19937_64 random_;
  std::map<Key, std::uint64_t> model_;
};

/// Inserts batch after batch: partitions are filled, built again, enlarged and halved.
template <template <class> class Children, class Key>
void check_kmers(std::uint32_t k, const table::ShardPlace<Key>& place) {
  CAPTURE(k);
  for (const std::uint32_t frames : {1u, 3u}) {
    table::PagedTablePlan plan = small_plan(frames, 4);
    plan.growth = frames == 1 ? 2 : 1.25;
    KmerLedger<Children, Key> ledger(plan, place);
    const std::uint32_t share = (1u << kShardBits) / (place.end_shard - place.first_shard);
    for (std::uint32_t round = 1; round <= 12; ++round) {
      ledger.insert(share * 900, share * 700 * round);
      if (round % 4 == 0) ledger.check_all();
    }
    ledger.check_ranges();
    CHECK(ledger.table.counts().enlarged > 0);
    CHECK(ledger.table.counts().halved > 0);
    // Each partition stays there while others are brought, except for one; then more may come.
    for (const table::ChildRange& range : ledger.table.ranges()) ledger.table.bring(range.child);
    ledger.check_all();
    ledger.insert(10, 1000);
    ledger.check_all();
  }
}

/// Adds to counts and takes off them again, batch after batch; the room of k-mers that are gone is others'.
template <template <class> class Children, class Key>
void check_subtraction(std::uint32_t k, const table::ShardPlace<Key>& place) {
  CAPTURE(k);
  for (const std::uint32_t frames : {1u, 3u}) {
    KmerLedger<Children, Key> ledger(small_plan(frames, 4), place);
    for (std::uint32_t round = 1; round <= 12; ++round) {
      ledger.insert(900, 500 * round);
      ledger.subtract(700, 600 * round);
      if (round % 4 != 0) continue;
      ledger.check_all();
      ledger.drop_removed();
      ledger.check_all();
      ledger.check_ranges();
    }
    CHECK(ledger.table.counts().rebuilds > 0);
  }
}

template <template <class> class Children>
void check_kmers_of_all_lengths(bool has_wide) {
  for (const std::uint32_t k : {17u, 31u, 32u}) check_kmers<Children, Key64>(k, {k});
  check_subtraction<Children, Key64>(31, {31});
  if (has_wide) check_subtraction<Children, Key128>(55, {55, 1000, 3000});
  check_kmers<Children, Key64>(31, {31, 1000, 2365});  // one of three devices'
  for (const std::uint32_t k : {47u, 64u}) {
    if (has_wide) check_kmers<Children, Key128>(k, {k});
  }
}

template <class Ledger>
void check_full(Ledger& ledger, std::size_t n, table::PagedTableFull::Reason reason) {
  bool is_full = false;
  try {
    ledger.insert(n, 50000000);
  } catch (const table::PagedTableFull& full) {
    is_full = true;
    CHECK(full.reason == reason);
    CHECK((full.range.first < full.range.end || reason == table::PagedTableFull::Reason::memory));
  }
  CHECK(is_full);
}

/// Checks the largest number of partitions, and one for each shard.
template <template <class> class Children>
void check_most_children() {
  table::PagedTablePlan plan = small_plan(2, 4);
  plan.most_image_bytes = 5 * table::ChildShape{plan.frame_buckets, 0}.bytes<Key64>() + 100;
  KmerLedger<Children, Key64> few(plan, {31});
  check_full(few, 50000, table::PagedTableFull::Reason::memory);
  CHECK_THROWS_AS(few.table.flush(), InternalError);
  plan.most_image_bytes = 0;
  plan.children = plan.frame_buckets = plan.child_buckets = 1;
  KmerLedger<Children, Key64> narrow(plan, {31, 700, 702});
  check_full(narrow, 1500000, table::PagedTableFull::Reason::one_place);
  CHECK(narrow.table.children() == 2);
}

/// Checks two shards that only the last bit of their places tells apart, and that have more k-mers than a
/// frame has slots: a partition is halved until each has one of them, though the halves before are too full
/// to be built.
template <template <class> class Children>
void check_crowded_neighbours() {
  table::PagedTablePlan plan = small_plan(2, 1);
  plan.frame_buckets = plan.child_buckets = 1000;
  const std::size_t slots = table::ChildShape{plan.frame_buckets, 0}.slots();
  plan.batch = 2 * slots;
  KmerLedger<Children, Key64> ledger(plan, {31});
  ledger.insert_of_shards({{700, slots * 3 / 4}, {701, slots / 2}});
  ledger.check_all();
  ledger.check_ranges();
  CHECK(ledger.table.children() > kShardBits);
}

/// Checks that partitions are as many, and as large, as the expected k-mers need.
template <template <class> class Children>
void check_weights() {
  const table::ShardPlace<Key64> place{31, 500, 1500};
  table::PagedTablePlan plan = small_plan(2, 3);
  plan.frame_buckets = 8;  // 108 entries
  plan.weights.assign(1u << kShardBits, 0);
  for (std::uint32_t shard = 500; shard < 1500; ++shard)
    plan.weights[place.entry_of(shard)] = shard < 510 ? 90 : 1;
  KmerLedger<Children, Key64> ledger(plan, place);
  const std::uint32_t children = ledger.table.children();
  CHECK(children >= 19);
  CHECK(largest_buckets(ledger.table) >= 7);
  for (const table::ChildRange& range : ledger.table.ranges()) {
    std::uint64_t weight = 0;
    for (std::uint32_t i = range.first; i < range.end; ++i) weight += plan.weights[i];
    CHECK(weight <= 108);
  }
  for (std::uint32_t round = 1; round <= 4; ++round) ledger.insert(4000, 3000 * round);
  ledger.check_all();
  ledger.check_ranges();
}

}  // namespace warpmer::tests
