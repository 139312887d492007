#pragma once
/// Looking up the k-mers of batches in a table built of an index (cpu/lookup/lookup_table.h).

#include <memory>

#include "cpu/lookup/finder.h"
#include "index/index_file.h"

namespace warpmer::cpu {

/// Builds the table, bcht or iceberg, with so many threads. `index` need not outlive it; `lenient` as in
/// CountOptions. ResourceError when the table cannot be built.
std::unique_ptr<FinderSource> make_table_finders(const index::IndexFile& index, bool lenient,
                                                 backend::LookupTable table, unsigned threads);

}  // namespace warpmer::cpu
