#pragma once
/// Parameters that this program writes into an index, and takes from it.

#include <cstdint>

#include "index/index_file.h"

namespace warpmer::backend {

/// Returns the parameters of an index of k-mers of this length: minimizer, shards and hashes follow from k.
index::IndexParams params_for(std::uint32_t k, bool canonical);

/// InputError when an index has other hashes, minimizers or shards than `params_for` would give it.
void check_params(const index::IndexFile& index);

}  // namespace warpmer::backend
