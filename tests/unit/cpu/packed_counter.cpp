// The table in which short k-mers are counted, against a map.

#include "cpu/count/packed_counter.h"

#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "cpu/simd/kernels.h"
#include "unit/cpu/checked_counter.h"

namespace {

using namespace warpmer;

/// Every key that `add` brings, with each instruction set.
template <class Add>
void check_packed(std::uint32_t k, Add&& add) {
  for (const cpu::Kernels* kernels : cpu::available_kernels()) {
    CAPTURE(kernels->name);
    CAPTURE(k);
    cpu::PackedCounter table(kernels->packed, kernels->narrow, k);
    CheckedCounter<Key64> checked(table);
    std::mt19937_64 random(k);
    // The second time in memory that has been used, and with less to grow.
    for (const double distinct : {0.0, 20000.0}) {
      table.reset(distinct);
      add(checked, random);
      checked.check();
    }
  }
}

}  // namespace

TEST_CASE("packed tables: random k-mers, of which some come often, while the table grows") {
  for (const std::uint32_t k : {13u, 14u, 21u, 31u, 32u}) {
    check_packed(k, [&](CheckedCounter<Key64>& table, std::mt19937_64& random) {
      std::vector<Key64> keys(20000);
      for (Key64& key : keys) key = random() & key_mask<Key64>(k);
      for (int i = 0; i < 60000; ++i) {
        const std::uint64_t number = random();
        table.add(keys[number % 4 == 0 ? number % 16 : number % keys.size()],
                  1 + static_cast<std::uint32_t>(number >> 62));
      }
    });
  }
}

TEST_CASE("packed tables: many k-mers of one window, between those of others") {
  check_packed(32, [](CheckedCounter<Key64>& table, std::mt19937_64& random) {
    const Key64 crowded = random() << 40;
    for (int round = 0; round < 3; ++round) {
      for (Key64 i = 0; i < 3000; ++i) {
        table.add(crowded | (i << 8), 1);
        table.add(random(), 2);
      }
    }
  });
}

TEST_CASE("packed tables: counts beyond their bits, and beyond 2^32; the first and the last k-mer") {
  for (const std::uint32_t k : {13u, 32u}) {
    check_packed(k, [&](CheckedCounter<Key64>& table, std::mt19937_64& random) {
      const Key64 last = key_mask<Key64>(k);
      for (int i = 0; i < 6; ++i) {
        for (const Key64 key : {Key64{0}, Key64{1}, last - 1, last, last / 3}) {
          table.add(key, 200);  // which 8 bits hold once
          table.add(key, i < 4 ? 1u << 31 : UINT32_MAX);
          table.add(key, 1);
        }
        // The table grows in between, and counts get a bit more.
        for (int j = 0; j < 3000; ++j) table.add(random() & last, 1);
      }
    });
  }
}

TEST_CASE("packed tables: every k-mer there is") {
  check_packed(13, [](CheckedCounter<Key64>& table, std::mt19937_64&) {
    for (Key64 key = 0; key < Key64{1} << 17; ++key) table.add(key << 9, 1);
    for (Key64 key = 0; key < 1 << 12; ++key) table.add(key, 3);
  });
}
