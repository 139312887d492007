#pragma once
/// What this program writes into an index's parameters, and takes from them.

#include <cstdint>

#include "index/index_file.h"

namespace warpmer::backend {

/// Of an index of k-mers of this length: minimizer, shards and hashes follow from k.
index::IndexParams params_for(std::uint32_t k, bool canonical);

/// InputError when an index has other hashes, minimizers or shards than `params_for` would give it.
void check_params(const index::IndexFile& index);

}  // namespace warpmer::backend
