#include "backend/index_params.h"

#include <fmt/format.h>

#include "base/error.h"
#include "kmer/hash.h"
#include "kmer/minimizer.h"

namespace warpmer::backend {

index::IndexParams params_for(std::uint32_t k, bool canonical) {
  index::IndexParams params;
  params.k = k;
  params.canonical = canonical;
  params.minimizer_length = minimizer_length(k);
  params.shard_bits = shard_bits(k);
  params.hash_version = kHashVersion;
  return params;
}

void check_params(const index::IndexFile& index) {
  const index::IndexParams& params = index.params();
  const index::IndexParams ours = params_for(params.k, params.canonical);
  if (params.hash_version != ours.hash_version || params.minimizer_length != ours.minimizer_length ||
      params.shard_bits != ours.shard_bits) {
    throw InputError(
        fmt::format("{} was made with other hashes or minimizers than this warpmer's; count its input again",
                    index.path()));
  }
}

}  // namespace warpmer::backend
