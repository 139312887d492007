// Probe sequences: every slot of a table is reached, once, whatever the number of windows and their size.
// ctest: one thread

#include "table/probing.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

#include "table/word_slots.h"

using namespace warpmer;

namespace {

/// Groups that a key's sequence comes to, each as often as it does.
template <int Width, int Window>
std::vector<int> visits(std::uint32_t windows, table::Key32 key) {
  const table::HashedWindows<table::SerialWordTile<Width>, Window> probing(windows, 5, windows);
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

}  // namespace

TEST_CASE("scattered windows: a key comes to every group, and to none outside of the table") {
  for (const std::uint32_t starts : {1u, 2u, 7u, 16u, 31u}) {
    std::size_t wrong = 0;
    for (table::Key32 key = 0; key < 300; ++key) {
      const table::ScatteredWindows<table::SerialWordTile<4>> probing(starts, 5, starts);
      std::vector<int> times(probing.groups());
      std::uint32_t number = probing.home(key);
      for (std::uint32_t probe = 0; probe < probing.max_probes();
           ++probe, number = probing.next(number, key, probe))
        times.at(number) += 1;
      for (const int one : times) wrong += one > 0 ? 0 : 1;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("windows of any size, as many as a prime number or a power of two: each slot is reached once") {
  all_are_visited<1, 32>();
  all_are_visited<8, 32>();
  all_are_visited<32, 32>();
  all_are_visited<4, 8>();
  all_are_visited<8, 8>();
  all_are_visited<1, 1>();
}
