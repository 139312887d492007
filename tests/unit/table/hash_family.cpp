// The tables' seeded hash functions.
// ctest: one thread

#include "table/hash_family.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace warpmer;
using table::HashFamily;
using table::scale;

namespace {

constexpr std::uint32_t kBuckets = 1000;
constexpr std::size_t kKeys = 200 * kBuckets;

/// Keys with all their differences in few bits, low or high ones.
template <class Key>
std::vector<Key> regular_keys(std::uint32_t shift) {
  std::vector<Key> keys(kKeys);
  for (std::size_t i = 0; i < kKeys; ++i) keys[i] = Key{i} << shift;
  return keys;
}

/// 200 keys a bucket if they were thrown at random, 14 more or less.
template <class Bucket>
bool is_even(Bucket&& bucket) {
  std::vector<int> sizes(kBuckets, 0);
  for (std::size_t i = 0; i < kKeys; ++i) sizes[bucket(i)] += 1;
  const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
  return *least > 130 && *most < 270;
}

template <class Key>
void spreads_regular_keys() {
  for (const std::uint32_t shift : {0u, 20u, kKeyBits<Key> - 20u}) {
    const std::vector<Key> keys = regular_keys<Key>(shift);
    for (const std::uint32_t seed : {0u, 1u, 2u, 4000000000u}) {
      const HashFamily<Key> family(seed);
      for (int f = 0; f < HashFamily<Key>::kFunctions; ++f) {
        const auto bucket = [&](std::size_t i) {
          return scale(family.hash(family.mix(keys[i]), f), kBuckets);
        };
        CHECK(is_even(bucket));
      }
    }
  }
}

/// True when two hashes name the same bucket only by chance, for one key in kBuckets.
template <class First, class Second>
bool are_independent(First&& first, Second&& second) {
  std::size_t same = 0;
  for (std::size_t i = 0; i < kKeys; ++i) same += first(i) == second(i) ? 1 : 0;
  return same > kKeys / kBuckets / 2 && same < kKeys / kBuckets * 2;
}

}  // namespace

TEST_CASE("hash family: regular keys spread over buckets evenly") {
  spreads_regular_keys<Key64>();
  spreads_regular_keys<Key128>();
}

TEST_CASE("hash family: functions, and seeds, have nothing to do with each other") {
  const HashFamily<Key64> one(1), other(2);
  for (int f = 0; f < HashFamily<Key64>::kFunctions; ++f) {
    const auto first = [&](std::size_t i) { return scale(one.hash(one.mix(i), f), kBuckets); };
    CHECK(
        are_independent(first, [&](std::size_t i) { return scale(other.hash(other.mix(i), f), kBuckets); }));
    for (int g = 0; g < f; ++g)
      CHECK(are_independent(first, [&](std::size_t i) { return scale(one.hash(one.mix(i), g), kBuckets); }));
  }
}

TEST_CASE("hash family: hashes scale to any number of buckets") {
  CHECK(scale(0, 7) == 0);
  CHECK(scale(UINT32_MAX, 7) == 6);
  CHECK(scale(UINT32_MAX, 1) == 0);
  CHECK(scale(UINT32_MAX, UINT32_MAX) == UINT32_MAX - 1);
  CHECK(scale(1u << 31, 7) == 3);
}
