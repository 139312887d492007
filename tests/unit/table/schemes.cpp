// The table suite on the CPU's tiles, one thread at a time; at_once.cpp has those that share a table.
// ctest: long; ctest: one thread

#include "tiles/table_suite.h"

using namespace warpmer;

TEST_CASE("64-bit keys: every scheme on every tile") {
  for (const auto& on : tests::all_schemes_64()) tests::whole_suite(on);
}

TEST_CASE("128-bit keys: every scheme on every tile") {
  for (const auto& on : tests::all_schemes_128()) tests::whole_suite(on);
}

TEST_CASE("32-bit keys in one word with their counts: every scheme on every tile") {
  for (const auto& on : tests::all_schemes_of_words()) tests::whole_suite(on);
}

TEST_CASE("windows of 32 slots: tables do not depend on the width of tiles") {
  tests::same_layout_for_all(tests::all_schemes_64());
  tests::same_layout_for_all(tests::all_schemes_128());
  tests::same_layout_for_all(tests::all_schemes_of_words());
}
