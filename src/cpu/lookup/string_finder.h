#pragma once
/// Looking up the k-mers of batches in the strings of an index (src/groups), a super-k-mer at a time.

#include <memory>

#include "backend/lookup/seen_kmers.h"
#include "cpu/lookup/finder.h"
#include "cpu/lookup/shard_checks.h"
#include "index/index_file.h"

namespace warpmer::cpu {

/// Makes a finder for k > 12. `index`, `checks` of it and `met` outlive it; `met`, unless it is null, takes
/// note of what is found. `lenient` as in CountOptions.
std::unique_ptr<Finder> make_string_finder(const index::IndexFile& index, ShardChecks& checks, bool lenient,
                                           backend::SeenKmers* met);

}  // namespace warpmer::cpu
