// A table on several devices holds what a map holds: one GPU as several, all GPUs there are; unique and
// repeated keys, keys that one device owns; from device and host memory; any number of pipelines.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <unordered_map>
#include <vector>

#include "gpu/device.h"
#include "kernels/tables/distributed_table.cuh"

namespace {

using namespace warpmer;
using namespace warpmer::gpu;
using table::Key32;
using tests::all_gpus;
using Pairs = std::vector<std::vector<std::uint64_t>>;  ///< by device

/// Arrays in a device's memory or in pinned memory, one for each device.
template <class T>
class Arrays {
 public:
  Arrays(const std::vector<int>& ordinals, Side side) : ordinals_(ordinals), side_(side) {}

  T* add(const std::vector<T>& values) {
    const CurrentDevice current(ordinals_.at(sizes_.size()));
    sizes_.push_back(values.size());
    if (side_ == Side::host) {
      host_.emplace_back(values.size() + 1);
      std::copy(values.begin(), values.end(), host_.back().data());
      return host_.back().data();
    }
    device_.emplace_back(ordinals_.at(sizes_.size() - 1), values.size() + 1);
    T* const data = device_.back()->data();
    check(cudaMemcpy(data, values.data(), values.size() * sizeof(T), cudaMemcpyDefault), "copying");
    // Elements from pageable memory may still be on their way.
    check(cudaDeviceSynchronize(), "copying");
    return data;
  }
  [[nodiscard]] std::vector<T> get(std::size_t device) const {
    std::vector<T> values(sizes_[device]);
    const T* const data = side_ == Side::host ? host_[device].data() : device_[device]->data();
    check(cudaMemcpy(values.data(), data, values.size() * sizeof(T), cudaMemcpyDefault), "copying");
    return values;
  }

 private:
  std::vector<int> ordinals_;
  Side side_;
  std::vector<std::size_t> sizes_;
  std::vector<PinnedArray<T>> host_;
  std::vector<OnOneDevice<DeviceArray<T>>> device_;
};

/// Returns the values that must be in the table.
std::unordered_map<Key32, std::uint32_t> sums_of(const Pairs& pairs) {
  std::unordered_map<Key32, std::uint32_t> sums;
  for (const auto& of_device : pairs) {
    for (const std::uint64_t pair : of_device) sums[table::key_of(pair)] += table::count_of(pair);
  }
  return sums;
}

/// Inserts, and looks up every key and as many absent ones, shuffled.
void check_table(const DistributedTablePlan& plan, const Pairs& pairs, Side side) {
  CAPTURE(plan.ordinals.size());
  CAPTURE(plan.pipelines);
  CAPTURE(plan.batch);
  CAPTURE(static_cast<int>(side));
  const auto expected = sums_of(pairs);
  DistributedTable distributed(plan);
  Arrays<std::uint64_t> brought(plan.ordinals, side);
  std::vector<DeviceElements<std::uint64_t>> insertions;
  for (const auto& of_device : pairs) insertions.push_back({brought.add(of_device), of_device.size()});
  distributed.insert(insertions, side);
  CHECK(distributed.overflow() == 0);

  std::mt19937 random(7);
  Arrays<Key32> asked(plan.ordinals, side);
  Arrays<std::uint32_t> answers(plan.ordinals, side);
  std::vector<std::vector<Key32>> keys(plan.ordinals.size());
  std::vector<DeviceElements<Key32>> lookups;
  std::vector<std::uint32_t*> to;
  for (std::size_t device = 0; device < keys.size(); ++device) {
    for (const std::uint64_t pair : pairs[device]) {
      keys[device].push_back(table::key_of(pair));
      keys[device].push_back(static_cast<Key32>(random()) & ~1u);  // no mark of an empty slot
    }
    std::shuffle(keys[device].begin(), keys[device].end(), random);
    lookups.push_back({asked.add(keys[device]), keys[device].size()});
    to.push_back(answers.add(std::vector<std::uint32_t>(keys[device].size(), 0xFEFEFEFEu)));
  }
  distributed.find(lookups, to, side);
  std::size_t wrong = 0;
  for (std::size_t device = 0; device < keys.size(); ++device) {
    const std::vector<std::uint32_t> found = answers.get(device);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto there = expected.find(keys[device][i]);
      wrong += found[i] == (there == expected.end() ? kNoValue : there->second) ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
}

/// `size` pairs for each device, fewer for later ones.
template <class KeyOf>
Pairs make_pairs(std::size_t devices, std::size_t size, KeyOf&& key_of) {
  Pairs pairs(devices);
  std::uint32_t number = 0;
  for (std::size_t device = 0; device < devices; ++device) {
    for (std::size_t i = 0; i < size / (device + 1); ++i, ++number)
      pairs[device].push_back(table::word_of({key_of(number), 1 + number % 1000}));
  }
  return pairs;
}

Key32 unique_key(std::uint32_t number) { return number * 2654435761u; }

void check_devices(const std::vector<int>& ordinals, Route route) {
  constexpr std::size_t kSize = 60'000;
  for (const Side side : {Side::device, Side::host}) {
    for (const std::uint32_t pipelines : {1u, 2u, 4u}) {
      DistributedTablePlan plan{.ordinals = ordinals,
                                .slots = kSize * 5 / 2,
                                .batch = 7001,
                                .pipelines = pipelines,
                                .route = route};
      check_table(plan, make_pairs(ordinals.size(), kSize, unique_key), side);
      const auto few = [](std::uint32_t number) { return unique_key(number * number % 5003); };
      check_table(plan, make_pairs(ordinals.size(), kSize, few), side);
    }
  }
}

}  // namespace

TEST_CASE("distributed table: one GPU as 1 to 4 devices, and all GPUs") {
  const int ordinal = tests::gpu_under_test().ordinal;
  for (const std::size_t devices : {1, 2, 3, 4})
    check_devices(std::vector<int>(devices, ordinal), Route::direct);
  check_devices(std::vector<int>(3, ordinal), Route::host);
  if (all_gpus().size() > 1) {
    check_devices(all_gpus(), Route::direct);
    check_devices(all_gpus(), Route::host);
  }
}

TEST_CASE("distributed table: keys that one device owns, nothing at all, one pair") {
  const std::vector<int> ordinals(4, tests::gpu_under_test().ordinal);
  const KeyOwner owner(4);
  DistributedTablePlan plan{.ordinals = ordinals, .slots = 300'000, .batch = 5000, .pipelines = 2};
  // Each batch outgrows the room that its owner has for it.
  std::uint32_t next = 0;
  const auto of_owner_2 = [&](std::uint32_t /*number*/) {
    while (owner(unique_key(next)) != 2) ++next;
    return unique_key(next++);
  };
  for (const Side side : {Side::device, Side::host}) {
    next = 0;
    check_table(plan, make_pairs(4, 50'000, of_owner_2), side);
    check_table(plan, make_pairs(4, 0, unique_key), side);
    check_table(plan, make_pairs(4, 1, unique_key), side);
    check_table(plan, make_pairs(4, 50'000, [](std::uint32_t) { return Key32{42}; }), side);
  }
}

TEST_CASE("distributed table: a table that is too small says so, and is empty after it is emptied") {
  const std::vector<int> ordinals(2, tests::gpu_under_test().ordinal);
  DistributedTable distributed({.ordinals = ordinals, .slots = 1000, .batch = 500});
  std::vector<std::uint64_t> pairs(5000);
  for (std::uint32_t i = 0; i < pairs.size(); ++i) pairs[i] = table::word_of({unique_key(i), 1});
  Arrays<std::uint64_t> arrays(ordinals, Side::device);
  std::vector<DeviceElements<std::uint64_t>> brought;
  for (int device = 0; device < 2; ++device) {
    const std::vector<std::uint64_t> half(pairs.begin() + device * 2500, pairs.begin() + (device + 1) * 2500);
    brought.push_back({arrays.add(half), half.size()});
  }
  distributed.insert(brought, Side::device);
  CHECK(distributed.overflow() == pairs.size() - distributed.slots());
  distributed.clear();
  CHECK(distributed.overflow() == 0);
  for (auto& one : brought) one.size = 300;
  distributed.insert(brought, Side::device);
  CHECK(distributed.overflow() == 0);
}
