// The table suite on the CPU's tiles.

#include "tiles/table_suite.h"

using namespace warpmer;

TEST_CASE("64-bit keys: every scheme on every tile") {
  for (const auto& on : tests::all_schemes_64()) tests::whole_suite(on);
}

TEST_CASE("128-bit keys: every scheme on every tile") {
  for (const auto& on : tests::all_schemes_128()) tests::whole_suite(on);
}

TEST_CASE("tiles for shared tables: threads counting the same keys lose nothing") {
  for (const auto& on : tests::all_schemes_64()) tests::whole_suite_at_once(on, 80);
}

TEST_CASE("windows of 32 slots: tables do not depend on the width of tiles") {
  tests::same_layout_for_all(tests::all_schemes_64());
  tests::same_layout_for_all(tests::all_schemes_128());
}
