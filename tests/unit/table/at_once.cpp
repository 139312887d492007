// The table suite on the CPU's tiles, for tables that threads share.
// ctest: long

#include "tier.h"
#include "tiles/table_suite.h"

using namespace warpmer;

TEST_CASE("tiles for shared tables: threads counting the same keys lose nothing") {
  const std::size_t rounds = tests::by_tier(80, 30);
  for (const auto& on : tests::all_schemes_64()) tests::whole_suite_at_once(on, rounds);
  for (const auto& on : tests::all_schemes_of_words()) tests::whole_suite_at_once(on, rounds);
}
