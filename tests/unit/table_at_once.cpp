// The table suite on the CPU's tiles, for tables that threads share.

#include "tiles/table_suite.h"

using namespace warpmer;

TEST_CASE("tiles for shared tables: threads counting the same keys lose nothing") {
  for (const auto& on : tests::all_schemes_64()) tests::whole_suite_at_once(on, 80);
  for (const auto& on : tests::all_schemes_of_words()) tests::whole_suite_at_once(on, 80);
}
