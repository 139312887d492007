#include "tables/table_lists.h"

namespace warpmer::bench {

std::vector<TableEntry> host_tables() {
  std::vector<TableEntry> all;
  append(all, kHostWordTables);
  append(all, kHostSlabTables);
  append(all, kHostHashGraphs);
  append(all, kHostChainedTables);
  return all;
}

}  // namespace warpmer::bench
