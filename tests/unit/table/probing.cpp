// Probe sequences: every slot of a table is reached, once, whatever the number of windows and their size.
// ctest: one thread

#include "table/probing.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <set>
#include <vector>

#include "bench/tables/word_tile_serial.h"
#include "table/word_slots.h"

using namespace warpmer;

namespace {

/// Groups that a key's sequence comes to, each as often as it does.
template <int Width, int Window>
std::vector<int> visits(std::uint32_t windows, table::Key32 key) {
  const table::HashedWindows<bench::SerialWordTile<Width>, Window> probing(windows, 5, windows);
  std::vector<int> times(probing.groups());
  std::uint32_t number = probing.home(key);
  for (std::uint32_t probe = 0; probe < probing.max_probes();
       ++probe, number = probing.next(number, key, probe))
    times.at(number) += 1;
  return times;
}

template <int Width, int Window>
void all_are_visited() {
  for (const std::uint32_t windows : {1u, 2u, 3u, 4u, 5u, 7u, 13u, 16u, 31u, 64u, 127u}) {
    std::size_t wrong = 0;
    for (table::Key32 key = 0; key < 300; ++key) {
      for (const int times : visits<Width, Window>(windows, key)) wrong += times == 1 ? 0 : 1;
    }
    CHECK(wrong == 0);
  }
}

/// Counts the groups that keys of 26 bits do not come to.
template <class Windows>
std::size_t missed(const Windows& probing) {
  std::size_t missed = 0;
  for (std::uint32_t i = 0; i < 300; ++i) {
    const typename Windows::Key key = i * 223'000u;
    std::vector<int> times(probing.groups());
    std::uint32_t number = probing.home(key);
    for (std::uint32_t probe = 0; probe < probing.max_probes();
         ++probe, number = probing.next(number, key, probe))
      times.at(number) += 1;
    for (const int one : times) missed += one > 0 ? 0 : 1;
  }
  return missed;
}

}  // namespace

TEST_CASE("scattered windows: a key comes to every group, and to none outside of the table") {
  for (const std::uint32_t starts : {1u, 2u, 7u, 16u, 31u}) {
    CHECK(missed<table::ScatteredWindows<bench::SerialWordTile<4>>>({starts, 5, starts}) == 0);
    using Home = table::OrderedBucket<Key64>;
    using Ordered = table::ScatteredWindows<table::SerialTile<Key64, 5>, 10, Home>;
    CHECK(missed<Ordered>({Home(starts, 26), starts}) == 0);
    CHECK(missed<Ordered>({Home(starts, 62), starts}) == 0);
  }
}

TEST_CASE("scattered windows: keys that are hashes and come to the same group go on to different ones") {
  using Home = table::OrderedBucket<Key64>;
  const table::ScatteredWindows<table::SerialTile<Key64, 5>, 10, Home> probing(Home(1009, 26), 1009);
  std::set<std::uint32_t> next;
  for (Key64 key = 0; key < 1000; ++key) {
    REQUIRE(probing.home(key) == 0);
    next.insert(probing.next(1, key, 2));
  }
  CHECK(next.size() > 400);
}

TEST_CASE("windows of any size, as many as a prime number or a power of two: each slot is reached once") {
  all_are_visited<1, 32>();
  all_are_visited<8, 32>();
  all_are_visited<32, 32>();
  all_are_visited<4, 8>();
  all_are_visited<8, 8>();
  all_are_visited<1, 1>();
}
