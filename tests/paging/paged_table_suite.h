#pragma once
/// Tests every paged table (table/paged_table.h), wherever its partitions lie: there is one body for host
/// memory and for GPUs. `Table` is a PagedTable, made of a plan alone.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "table/paged_table.h"

namespace warpmer::tests {

using table::Key32;
using table::PagedTablePlan;
using table::Placement;

/// A table, with the map that it has to equal.
template <class Table>
class PagedLedger {
 public:
  PagedLedger(const PagedTablePlan& plan, std::uint32_t seed) : table(plan), random_(seed) {}

  /// Inserts `n` keys below `keys`, however often each comes.
  void insert(std::size_t n, std::uint32_t keys) {
    std::vector<std::uint64_t> pairs;
    for (std::size_t i = 0; i < n; ++i) {
      const Key32 key = spread(static_cast<Key32>(random_() % keys));
      const auto value = static_cast<std::uint32_t>(1 + random_() % 9);
      pairs.push_back(table::word_of({key, value}));
      model_[key] += value;
    }
    table.insert(pairs.data(), pairs.size(), false);
  }
  /// Inserts the next `n` of the keys 0, 1, ..., each once.
  void insert_next(std::size_t n) {
    std::vector<std::uint64_t> pairs;
    for (std::size_t i = 0; i < n; ++i, ++next_) {
      const auto value = static_cast<std::uint32_t>(1 + random_() % 1000000);
      pairs.push_back(table::word_of({spread(next_), value}));
      model_[spread(next_)] = value;
    }
    table.insert(pairs.data(), pairs.size(), true);
  }
  void erase(std::size_t n, std::uint32_t keys) {
    std::vector<std::uint64_t> pairs;
    for (std::size_t i = 0; i < n; ++i) {
      const Key32 key = spread(static_cast<Key32>(random_() % keys));
      pairs.push_back(table::word_of({key, 0}));
      model_.erase(key);
    }
    table.erase(pairs.data(), pairs.size());
  }
  /// Looks up `n` keys below `keys`.
  void check(std::size_t n, std::uint32_t keys) {
    std::vector<Key32> asked;
    for (std::size_t i = 0; i < n; ++i) asked.push_back(spread(static_cast<Key32>(random_() % keys)));
    check(asked);
  }
  void check_all() {
    std::vector<Key32> asked;
    for (const auto& [key, value] : model_) {
      asked.push_back(key);
      asked.push_back(~key == 0 ? 0 : key ^ 0x80000000u);
    }
    std::shuffle(asked.begin(), asked.end(), random_);
    check(asked);
  }
  void check(const std::vector<Key32>& asked) {
    std::vector<std::uint32_t> answers(asked.size(), 77);
    table.find(asked.data(), asked.size(), answers.data());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const auto there = model_.find(asked[i]);
      wrong += answers[i] == (there == model_.end() ? 0 : there->second) ? 0 : 1;
    }
    CHECK(wrong == 0);
  }
  /// Returns different keys below 2^31 for different numbers.
  static Key32 spread(Key32 number) { return (number * 0x9E3779B1u) & 0x7FFFFFFFu; }

  Table table;

 private:
  std::mt19937 random_;
  std::unordered_map<Key32, std::uint32_t> model_;
  Key32 next_ = 0;
};

/// Returns the buckets of the largest child, of a table by key.
template <class Table>
std::uint32_t largest_buckets(const Table& table) {
  std::uint32_t most = 0;
  for (const table::ChildRange& range : table.ranges())
    most = std::max(most, table.shape(range.child).buckets);
  return most;
}

/// Returns a plan with small partitions and batches, so that everything happens often.
inline PagedTablePlan small_plan(std::uint32_t frames, std::uint32_t children) {
  PagedTablePlan plan;
  plan.frames = frames;
  plan.frame_buckets = 12;
  plan.child_buckets = 3;
  plan.children = children;
  plan.batch = 700;
  return plan;
}

template <class Table>
void check_random_operations() {
  for (const std::uint32_t frames : {1u, 2u, 3u, 5u, 8u}) {
    CAPTURE(frames);
    PagedLedger<Table> ledger(small_plan(frames, 5), 31 * frames);
    std::mt19937 random(frames);
    for (int round = 0; round < 60; ++round) {
      const std::uint32_t keys = 300 + 150 * static_cast<std::uint32_t>(round);
      const std::size_t n = 1 + random() % 900;
      switch (random() % 6) {
        case 0:
          ledger.erase(n, keys);
          break;
        case 1:
          ledger.check(n, 2 * keys);
          break;
        case 2:
          if (round % 2 == 0) ledger.table.add_child();
          break;
        default:
          ledger.insert(n, keys);
      }
    }
    ledger.check_all();
    CHECK(ledger.table.counts().rebuilds > 0);
    CHECK(ledger.table.counts().enlarged > 0);
    CHECK(ledger.table.counts().halved > 0);
  }
}

/// A table grows from one small partition to many full ones; nothing is lost.
template <class Table>
void check_growth() {
  PagedTablePlan plan = small_plan(2, 1);
  plan.child_buckets = 1;
  PagedLedger<Table> ledger(plan, 5);
  CHECK(ledger.table.children() == 1);
  ledger.insert(2000, 9000);
  ledger.check_all();
  for (int i = 0; i < 8; ++i) ledger.insert(2000, 9000);
  ledger.check_all();
  CHECK(largest_buckets(ledger.table) == plan.frame_buckets);
  CHECK(ledger.table.counts().enlarged > 0);
  const std::uint32_t grown = ledger.table.children();
  CHECK(grown > 9000 * 6 / 10 / (12 * 32));
  for (std::uint32_t more = 1; more <= 5; ++more) {
    ledger.table.add_child();
    CHECK(ledger.table.children() == grown + more);
  }
  ledger.check_all();
  ledger.erase(30000, 9000);
  ledger.check_all();
  ledger.insert(3000, 12000);
  ledger.check_all();
}

/// A batch brings one key very often, all keys of one partition, or nothing.
template <class Table>
void check_skewed() {
  PagedLedger<Table> ledger(small_plan(2, 4), 6);
  ledger.insert(0, 1);
  ledger.check(0, 1);
  ledger.insert(5000, 1);
  ledger.insert(5000, 40);
  ledger.check(300, 80);
  ledger.erase(50, 1);
  ledger.insert(100, 2);
  ledger.check_all();
  CHECK(ledger.table.children() == 4);
}

/// Good work is treated as failed: single partitions are built again, and hold the same keys.
template <class Table>
void check_forced_failures() {
  for (const Placement placement : {Placement::by_key, Placement::by_arrival}) {
    for (const std::uint32_t discarded : {1u, 3u}) {
      CAPTURE(static_cast<int>(placement));
      CAPTURE(discarded);
      PagedTablePlan plan = small_plan(2, 4);
      plan.placement = placement;
      plan.child_buckets = plan.frame_buckets;
      plan.discarded = discarded;
      plan.attempts = discarded;
      PagedLedger<Table> ledger(plan, 7);
      ledger.insert_next(1000);
      ledger.table.flush();
      ledger.insert_next(200);
      ledger.check_all();
      // With partitions by key, each add_child at the beginning has built two halves.
      CHECK(ledger.table.counts().rebuilds - 2 * ledger.table.counts().halved == discarded);
      CHECK(ledger.table.counts().rebuild_read > 0);
      CHECK(ledger.table.counts().rebuild_written > 0);
      plan.attempts = discarded - 1;
      if (plan.attempts == 0) continue;
      PagedLedger<Table> failing(plan, 7);
      CHECK_THROWS_AS((failing.insert_next(1000), failing.table.flush()), ResourceError);
      const Key32 key = 1;
      std::uint32_t answer = 0;
      CHECK_THROWS_AS(failing.table.find(&key, 1, &answer), InternalError);
      CHECK_THROWS_AS(failing.table.add_child(), InternalError);
    }
  }
}

/// For a partition in which keys were erased, one build makes room, and the next enlarges it, even if one
/// build has to suffice.
template <class Table>
void check_erased_and_full() {
  PagedTablePlan plan = small_plan(1, 1);
  plan.child_buckets = 1;
  plan.attempts = 1;
  PagedLedger<Table> ledger(plan, 12);
  ledger.insert(100, 1000);
  ledger.erase(5, 1000);
  ledger.table.flush();
  ledger.insert(200, 1000);
  ledger.check_all();
  CHECK(ledger.table.counts().enlarged > 0);
  CHECK(ledger.table.children() == 1);
}

/// Partitions are in the order in which pairs came, as in the paper.
template <class Table>
void check_by_arrival() {
  for (const std::uint32_t frames : {1u, 2u, 4u, 9u}) {
    CAPTURE(frames);
    PagedTablePlan plan = small_plan(frames, 3);
    plan.placement = Placement::by_arrival;
    plan.child_buckets = 0;
    PagedLedger<Table> ledger(plan, 8);
    ledger.check(10, 100);  // there is no partition yet
    const std::size_t each = 12 * 32 * 85 / 100;
    for (const std::size_t n : {std::size_t{1}, each - 1, std::size_t{50}, 3 * each + 7, 2 * each})
      ledger.insert_next(n);
    CHECK(ledger.table.children() == 7);
    ledger.check_all();
    ledger.insert_next(each);
    ledger.table.add_child();
    ledger.insert_next(5);
    CHECK(ledger.table.children() == 9);
    ledger.check_all();
    CHECK_THROWS_AS(ledger.table.subtract(nullptr, 0), InternalError);  // pairs have no counts
  }
}

/// A batch has fewer items than there are frames.
template <class Table>
void check_tiny_batch() {
  for (const Placement placement : {Placement::by_key, Placement::by_arrival}) {
    PagedTablePlan plan = small_plan(5, 3);
    plan.placement = placement;
    plan.child_buckets = 1;
    plan.batch = 2;
    PagedLedger<Table> ledger(plan, 10);
    ledger.insert_next(150);
    ledger.check_all();
  }
}

/// With partitions by arrival, queries that the present partitions answer bring no others.
template <class Table>
void check_locality() {
  PagedTablePlan plan = small_plan(2, 6);
  plan.placement = Placement::by_arrival;
  plan.child_buckets = 0;
  plan.batch = 1000;
  PagedLedger<Table> ledger(plan, 9);
  const std::size_t each = 12 * 32 * 85 / 100;
  ledger.insert_next(6 * each);
  const auto keys_of = [&](std::size_t child) {
    std::vector<Key32> keys;
    for (std::size_t i = child * each; i < (child + 1) * each; ++i)
      keys.push_back(PagedLedger<Table>::spread(static_cast<Key32>(i)));
    return keys;
  };
  const auto fetches = [&] { return ledger.table.paging().fetches; };
  ledger.check(keys_of(5));
  ledger.check(keys_of(4));
  CHECK(fetches() == 0);
  // While the first partition is asked, the next one comes: it is not known yet whether it is needed.
  ledger.check(keys_of(0));
  CHECK(fetches() == 2);
  std::vector<Key32> both = keys_of(0);
  const std::vector<Key32> others = keys_of(1);
  both.insert(both.end(), others.begin(), others.end());
  for (int round = 0; round < 3; ++round) {
    ledger.check(both);
    ledger.check(others);
  }
  CHECK(fetches() == 2);
  // A key of no partition makes all of them come, once.
  both.push_back(0x80000001u);
  ledger.check(both);
  CHECK(fetches() == 6);
  ledger.check(keys_of(1));
}

/// Compares the moves with a model of first in, first out: a list of residents.
template <class Table>
void check_swaps() {
  for (const std::uint32_t frames : {1u, 2u, 3u, 8u}) {
    CAPTURE(frames);
    PagedTablePlan plan = small_plan(frames, 8);
    plan.child_buckets = plan.frame_buckets;
    PagedLedger<Table> ledger(plan, 10);
    const std::uint64_t bytes = table::ChildShape{plan.frame_buckets, 0}.template bytes<Key32>();
    ledger.insert(700, 100000);
    ledger.table.flush();
    ledger.check(700, 100000);
    const table::PagingCounts begin = ledger.table.paging();
    // Every partition has work in every round. Those that are there are served first, and the others take
    // turns.
    for (int round = 1; round <= 3; ++round) {
      ledger.check(700, 100000);
      const std::uint64_t swaps = (8 - frames) * static_cast<std::uint64_t>(round);
      CHECK(ledger.table.paging().fetches - begin.fetches == swaps);
      CHECK(ledger.table.paging().fetched_bytes - begin.fetched_bytes == swaps * bytes);
      CHECK(ledger.table.paging().write_backs == begin.write_backs);
      CHECK(ledger.table.paging().visits - begin.visits == 8u * static_cast<std::uint64_t>(round));
      CHECK(ledger.table.paging().hits - begin.hits == frames * static_cast<std::uint64_t>(round));
    }
    // A partition that has changed is written back when it leaves, and only then.
    ledger.insert(600, 100000);
    ledger.table.flush();
    CHECK(ledger.table.paging().write_backs - begin.write_backs == 8 - frames);
    ledger.check(700, 100000);
    CHECK(ledger.table.paging().write_backs - begin.write_backs ==
          (frames == 8 ? 0 : 8 - frames + std::min(frames, 8 - frames)));
    CHECK(ledger.table.paging().written_bytes - begin.written_bytes ==
          (ledger.table.paging().write_backs - begin.write_backs) * bytes);
  }
}

}  // namespace warpmer::tests
