// The slab hash on the CPU's tiles: the suite of tests/tiles, and what concerns hosts alone.

#include "tiles/slab_suite.h"

using namespace warpmer;

TEST_CASE("the slab hash: all operations, side by side, on every tile") {
  for (const auto& on : tests::host_slab_tables()) tests::slab_suite(on);
}

TEST_CASE("histories: what no order explains is found out") {
  using enum tests::SlabOperation;
  const auto event = [](tests::SlabOperation operation, std::uint32_t n, std::uint32_t there,
                        std::uint32_t value, std::uint64_t began, std::uint64_t ended) {
    return tests::SlabEvent{{operation, 1, n}, {1, there, value, 0, began, ended}};
  };
  const auto explains = [](std::vector<tests::SlabEvent> events, tests::KeyState end) {
    return tests::HistoryOfKey(tests::SlabKind::counts, std::move(events), std::move(end)).is_linearizable();
  };
  const auto first = event(insert, 3, 0, 0, 0, 5);
  CHECK((explains({first, event(find, 0, 1, 3, 1, 2)}, {3})));
  CHECK((explains({first, event(find, 0, 0, 0, 1, 2)}, {3})));
  CHECK_FALSE((explains({first, event(find, 0, 0, 0, 6, 7)}, {3})));  // after it
  CHECK_FALSE((explains({first, event(find, 0, 1, 2, 1, 2)}, {3})));  // never so
  CHECK_FALSE((explains({first}, {4})));                              // nor at the end
  CHECK_FALSE((explains({first, event(find, 0, 1, 3, 1, 2), event(find, 0, 0, 0, 3, 4)}, {3})));  // and back
  CHECK((explains({first, event(erase, 0, 1, 3, 1, 9), event(find, 0, 0, 0, 7, 8)}, {})));
  CHECK_FALSE((explains({first, event(erase, 0, 1, 3, 1, 9), event(erase, 0, 1, 3, 1, 9)}, {})));  // twice
}

TEST_CASE("SlabAlloc: no unit twice, all of them, again after they were freed") {
  for (const auto& on : tests::host_allocators()) tests::allocator_suite(on);
}
