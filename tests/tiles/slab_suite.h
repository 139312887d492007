#pragma once
/// One suite for the slab hash on every tile. It compares the work of a single tile with a plain model, and
/// checks that of many tiles side by side by the histories of keys; it tests lists, flushing, and running out
/// of slabs.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "tier.h"
#include "tiles/slab_history.h"
#include "tiles/slab_ops.h"

namespace warpmer::tests {

/// Returns the state of each key, by looking through all buckets. Every test of the suite ends with it.
inline std::map<std::uint32_t, KeyState> contents(SlabTable& table, std::uint32_t buckets) {
  std::map<std::uint32_t, KeyState> all;
  for (std::uint32_t b = 0; b < buckets; ++b) {
    for (const SlabElement& element : table.bucket(b)) all[element.key].push_back(element.value);
  }
  return all;
}

/// Returns the operations that act at one moment.
inline std::vector<SlabOperation> atomic_operations(SlabKind kind) {
  std::vector<SlabOperation> all{SlabOperation::insert, SlabOperation::replace, SlabOperation::erase,
                                 SlabOperation::find};
  if (kind == SlabKind::counts) all.push_back(SlabOperation::subtract);
  return all;
}

inline SlabRequest random_request(SlabKind kind, std::mt19937_64& random, std::uint32_t key) {
  const auto operations = atomic_operations(kind);
  const auto n = kind == SlabKind::keys ? 0 : static_cast<std::uint32_t>(random() % 6 + 1);
  return {operations[random() % operations.size()], key, n};
}

/// Returns the number of slabs that so many elements of one bucket take.
inline std::uint32_t slabs_for(const SlabOnTile& on, std::size_t elements) {
  const auto slots = static_cast<std::size_t>(on.slots);
  return std::max(1u, static_cast<std::uint32_t>((elements + slots - 1) / slots));
}

/// Compares random operations, one after another, with the model; the table is flushed now and then.
inline void one_after_another(const SlabOnTile& on, std::uint32_t super_blocks) {
  const SlabShape shape{7, 2048, super_blocks};
  const auto table = on.make(shape);
  std::mt19937_64 random(5);
  std::map<std::uint32_t, KeyState> model;
  std::size_t wrong = 0;
  for (int round = 0; round < 6; ++round) {
    std::vector<SlabRequest> requests;
    for (int i = 0; i < 2000; ++i)
      requests.push_back(random_request(on.kind, random, static_cast<std::uint32_t>(random() % 200)));
    const std::vector<SlabAnswer> answers = table->run(requests);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      KeyState& state = model[requests[i].key];
      const SlabEvent event{requests[i], answers[i]};
      const bool right =
          on.kind == SlabKind::counts ? apply_to_counts(event, state) : apply_to_elements(event, state);
      wrong += right ? 0 : 1;
      if (state.empty()) model.erase(requests[i].key);
    }
    CHECK(contents(*table, shape.buckets) == model);
    if (round % 2 == 0) continue;
    const std::uint32_t before = table->units_taken();
    const FlushedSlabs flushed = table->flush();
    CHECK(table->units_taken() == before - flushed.slabs);
    CHECK(contents(*table, shape.buckets) == model);
    for (std::uint32_t b = 0; b < shape.buckets; ++b)
      CHECK(table->length(b) == slabs_for(on, table->bucket(b).size()));
    const FlushedSlabs again = table->flush();
    CHECK(again.elements == 0);
    CHECK(again.slabs == 0);
  }
  CHECK(wrong == 0);
}

/// Many elements of one key are found in their order, replaced and erased from the front, all at once.
inline void elements_of_one_key(const SlabOnTile& on) {
  if (on.kind == SlabKind::counts) return;
  const auto value = [&](std::uint32_t n) { return on.kind == SlabKind::pairs ? n : 0; };
  const auto table = on.make({1, 64, 1});
  std::vector<SlabRequest> requests;
  constexpr std::uint32_t kTimes = 70;
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < kTimes; ++i) {
    requests.push_back({SlabOperation::insert, 7, value(100 + i)});
    requests.push_back({SlabOperation::insert, 8, value(i)});
    sum += value(100 + i);
  }
  table->run(requests);
  const auto ask = [&](SlabOperation operation, std::uint32_t key, std::uint32_t n = 0) {
    return table->run({{operation, key, n}})[0];
  };
  CHECK(ask(SlabOperation::find_all, 7).there == kTimes);
  CHECK(ask(SlabOperation::find_all, 7).value == sum);
  CHECK(ask(SlabOperation::find, 7).value == value(100));
  CHECK(ask(SlabOperation::replace, 7, value(5)).value == value(100));
  CHECK(ask(SlabOperation::erase, 7).value == value(5));
  CHECK(ask(SlabOperation::find, 7).value == value(101));
  CHECK(ask(SlabOperation::erase_all, 7).there == kTimes - 1);
  CHECK(ask(SlabOperation::find_all, 7).there == 0);
  CHECK(ask(SlabOperation::find, 7).there == 0);
  CHECK(ask(SlabOperation::erase, 7).there == 0);
  CHECK(ask(SlabOperation::find_all, 8).there == kTimes);
  // Tombstones go with the flush, and the slabs they filled.
  const std::uint32_t slabs = slabs_for(on, kTimes);
  CHECK(table->length(0) == slabs_for(on, std::size_t{2} * kTimes));
  const FlushedSlabs flushed = table->flush();
  CHECK(flushed.elements == kTimes);
  CHECK(flushed.slabs == slabs_for(on, std::size_t{2} * kTimes) - slabs);
  CHECK(table->length(0) == slabs);
  CHECK(table->bucket(0).size() == kTimes);
}

/// More keys of one bucket (and of several) come than there is room for: those with a place stay, the rest is
/// refused, and nothing hangs. Erased keys make room with a flush.
inline void out_of_slabs(const SlabOnTile& on, std::uint32_t buckets, std::uint32_t super_blocks,
                         bool at_once) {
  if (at_once && !on.is_shared) return;
  const SlabShape shape{buckets, 40, super_blocks};
  const auto slots = static_cast<std::uint32_t>(on.slots);
  const std::uint32_t room = slots * (buckets + shape.units * super_blocks);
  const auto table = on.make(shape);
  std::vector<SlabRequest> requests;
  for (std::uint32_t i = 0; i < 2 * room; ++i) requests.push_back({SlabOperation::replace, i, 1});
  const auto run = [&] { return at_once ? table->run_at_once(requests) : table->run(requests); };
  const auto placed = [](const std::vector<SlabAnswer>& answers) {
    return std::count_if(answers.begin(), answers.end(), [](const SlabAnswer& a) { return a.placed != 0; });
  };
  // Side by side, some may be refused too early, while others hold units for a moment, so one tile fills up
  // the rest.
  const auto placed_first = placed(run());
  CHECK(static_cast<std::size_t>(placed_first) == contents(*table, buckets).size());
  CHECK(placed_first >= room / 4 * 3);
  const auto filled = table->run(requests);
  CHECK(static_cast<std::size_t>(placed(filled)) == contents(*table, buckets).size());
  if (buckets == 1) CHECK(placed(filled) == room);
  CHECK(table->units_taken() == shape.units * super_blocks);
  // Keys that are there are still served, others are not; looking up changes nothing.
  for (auto& request : requests) request.operation = SlabOperation::find;
  const auto found = run();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) wrong += found[i].there == filled[i].placed ? 0 : 1;
  CHECK(wrong == 0);
  for (auto& request : requests) request.operation = SlabOperation::erase;
  run();
  CHECK(contents(*table, buckets).empty());
  const FlushedSlabs flushed = table->flush();
  CHECK(flushed.elements == static_cast<std::uint32_t>(placed(filled)));
  CHECK(flushed.slabs == shape.units * super_blocks);
  CHECK(table->units_taken() == 0);
  for (auto& request : requests) request.operation = SlabOperation::replace;
  CHECK(placed(run()) >= placed_first / 4 * 3);
}

/// Runs all operations side by side on few keys in few buckets: each key's history must be that of some
/// order. Returns the number of operations that began while another on the same key was under way.
inline std::size_t linearizable(const SlabOnTile& on, std::uint32_t keys, std::uint32_t buckets,
                                std::uint32_t seed) {
  const SlabShape shape{buckets, 4096, 1 + seed % 2, seed};
  const auto table = on.make(shape);
  std::mt19937_64 random(seed);
  std::vector<SlabRequest> requests;
  for (std::size_t i = 0; i < on.events_per_key; ++i) {
    // Neighbours meet: the same keys are in the same stretch of the batch, and not in order.
    const std::size_t from = requests.size();
    for (std::uint32_t key = 0; key < keys; ++key) requests.push_back(random_request(on.kind, random, key));
    std::shuffle(requests.begin() + static_cast<std::ptrdiff_t>(from), requests.end(), random);
  }
  if (seed % 3 == 0) {  // all of a key's operations at the same time
    std::stable_sort(requests.begin(), requests.end(), [](auto& a, auto& b) { return a.key < b.key; });
  }
  const auto answers = table->run_at_once(requests);
  std::map<std::uint32_t, std::vector<SlabEvent>> histories;
  for (std::size_t i = 0; i < requests.size(); ++i)
    histories[requests[i].key].push_back({requests[i], answers[i]});
  const auto ends = contents(*table, buckets);
  std::size_t wrong = 0, overlapping = 0;
  for (auto& [key, events] : histories) {
    std::sort(events.begin(), events.end(), [](auto& a, auto& b) { return a.answer.began < b.answer.began; });
    for (std::size_t i = 1; i < events.size(); ++i)
      overlapping += events[i].answer.began < events[i - 1].answer.ended ? 1 : 0;
    const auto end = ends.find(key);
    HistoryOfKey history(on.kind, events, end == ends.end() ? KeyState{} : end->second);
    wrong += history.is_linearizable() ? 0 : 1;
  }
  CHECK(wrong == 0);
  return overlapping;
}

/// Elements of a key come and go while all of them are erased or looked at: none is erased twice, and those
/// that stay are always found.
inline void all_of_a_key_at_once(const SlabOnTile& on) {
  if (on.kind == SlabKind::counts) return;
  constexpr std::uint32_t kKeys = 16, kStay = 40;
  const auto table = on.make({2, 4096, 1});
  std::vector<SlabRequest> requests;
  for (std::uint32_t i = 0; i < kStay; ++i) requests.push_back({SlabOperation::insert, 1000, 1});
  table->run(requests);
  requests.clear();
  std::mt19937_64 random(3);
  std::map<std::uint32_t, std::uint64_t> inserted;
  for (int i = 0; i < 6000; ++i) {
    const auto key = static_cast<std::uint32_t>(random() % kKeys);
    const SlabOperation operation =
        std::vector{SlabOperation::insert, SlabOperation::insert, SlabOperation::erase,
                    SlabOperation::erase_all, SlabOperation::find_all}[random() % 5];
    requests.push_back({operation, operation == SlabOperation::find_all ? 1000 : key, 1});
    if (operation == SlabOperation::insert) inserted[key] += 1;
  }
  const auto answers = table->run_at_once(requests);
  std::size_t wrong = 0;
  std::map<std::uint32_t, std::uint64_t> erased;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (requests[i].operation == SlabOperation::find_all) {
      wrong +=
          answers[i].there == kStay && answers[i].value == (on.kind == SlabKind::pairs ? kStay : 0) ? 0 : 1;
    } else {
      erased[requests[i].key] += answers[i].there;
    }
  }
  CHECK(wrong == 0);
  auto left = contents(*table, 2);
  for (std::uint32_t key = 0; key < kKeys; ++key) CHECK(inserted[key] == erased[key] + left[key].size());
}

inline void slab_suite(const SlabOnTile& on) {
  INFO(on.name);
  one_after_another(on, 1);
  one_after_another(on, 3);
  elements_of_one_key(on);
  out_of_slabs(on, 1, 1, false);
  out_of_slabs(on, 5, 1, false);
  if (!on.is_shared) return;
  for (int i = 0; i < by_tier(3, 1); ++i) {
    out_of_slabs(on, 1, 1, true);
    out_of_slabs(on, 5, 1, true);
  }
  out_of_slabs(on, 20, 3, true);
  // If other processes keep the machine busy, it can take a while until threads run side by side.
  constexpr std::uint32_t kMostSeeds = 200;
  std::size_t overlapping = 0;
  for (std::uint32_t seed = 1; seed <= by_tier(12u, 3u) || (overlapping == 0 && seed <= kMostSeeds); ++seed) {
    overlapping += linearizable(on, 3, 1, seed);
    overlapping += linearizable(on, 60, 2, seed);
    overlapping += linearizable(on, by_tier(600u, 60u), 30, seed);
  }
  CHECK(overlapping > 0);  // or nothing was tested
  all_of_a_key_at_once(on);
}

// The following tests are of the allocator alone.

inline void each_once(std::vector<std::uint32_t> addresses, std::size_t expected) {
  std::sort(addresses.begin(), addresses.end());
  CHECK(std::adjacent_find(addresses.begin(), addresses.end()) == addresses.end());
  CHECK(addresses.size() == expected);
}

/// Splits off the answers that are no unit.
inline std::size_t drop_refusals(std::vector<std::uint32_t>& addresses) {
  const std::size_t asked = addresses.size();
  std::erase(addresses, ~0u);
  return asked - addresses.size();
}

inline void allocator_suite(const AllocatorOnTile& on) {
  INFO(on.name);
  const std::uint32_t workers = on.workers;
  const std::uint32_t rounds = std::max(20u, by_tier(2000u, 500u) * 8 / std::max(8u, workers));
  for (const std::uint32_t super_blocks : {1u, 3u}) {
    for (const std::uint32_t units : {1u, 31u, 1024u, 5000u}) {
      CAPTURE(super_blocks);
      CAPTURE(units);
      const auto alloc = on.make(super_blocks, units);
      const std::uint32_t room = super_blocks * units;
      // All units are handed out, each once; then there are refusals.
      auto all = alloc->allocate(workers, room / workers + 50);
      CHECK(drop_refusals(all) == std::size_t{workers} * (room / workers + 50) - room);
      each_once(all, room);
      CHECK(std::all_of(all.begin(), all.end(),
                        [&](std::uint32_t a) { return (a >> 24) < super_blocks && (a & 0xFFFFFF) < units; }));
      // Half of them, and only these, are handed out again.
      std::mt19937 random(7);
      std::shuffle(all.begin(), all.end(), random);
      const std::vector<std::uint32_t> half(all.begin(), all.begin() + room / 2);
      alloc->free(half);
      auto again = alloc->allocate(workers, room / workers + 50);
      drop_refusals(again);
      each_once(again, half.size());
      std::vector<std::uint32_t> sorted_half(half), sorted_again(again);
      std::sort(sorted_half.begin(), sorted_half.end());
      std::sort(sorted_again.begin(), sorted_again.end());
      CHECK(sorted_half == sorted_again);
      alloc->free(all);
      std::uint64_t refused = 0;
      CHECK(alloc->churn(workers, rounds, refused) == 0);
      if (room >= 5 * workers) CHECK(refused == 0);
      auto at_last = alloc->allocate(workers, room / workers + 50);
      drop_refusals(at_last);
      each_once(at_last, room);
    }
  }
  CHECK(on.make(1, 0)->allocate(1, 3) == std::vector<std::uint32_t>(3, ~0u));
  // Super blocks are taken into use as they are needed.
  const auto alloc = on.make(4, 16 * 1024);
  CHECK(alloc->allocate(1, 1000).size() == 1000);
  CHECK(alloc->in_use() == 1);
  auto more = alloc->allocate(1, 40 * 1024);
  CHECK(drop_refusals(more) == 0);
  CHECK(alloc->in_use() >= 3);
}

}  // namespace warpmer::tests
