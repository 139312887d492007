#include "tables/table_lists.h"

namespace warpmer::bench {

std::vector<TableEntry> host_tables() {
  std::vector<TableEntry> all;
  append(all, kHostWordTables);
  return all;
}

}  // namespace warpmer::bench
