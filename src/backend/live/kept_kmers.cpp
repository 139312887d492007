#include "backend/index_params.h"
#include "backend/live/initial_kmers.h"
#include "kmer/bit_stream.h"

namespace warpmer::backend {

KeptKmers::KeptKmers(const KmerParams& kmers)
    : params_(params_for(kmers.k, kmers.canonical)),
      shape_(kmers.k),
      lengths_(groups::make_length_table(shape_.flank_bases())),
      shards_(params_.shards()) {}

void KeptKmers::keep(std::uint32_t shard, index::FrozenShard&& frozen) {
  KeptShard& kept = shards_[shard];
  kept.sizes = frozen.sizes;
  // A copy takes what it needs, and has the words that readers may look at behind the last.
  kept.payload.reserve(frozen.payload.size() + kReadAheadWords);
  kept.payload.assign(frozen.payload.begin(), frozen.payload.end());
  kept.payload.resize(frozen.payload.size() + kReadAheadWords);
  bytes_ += kept.payload.capacity() * sizeof(std::uint64_t);
}

groups::ShardBits KeptKmers::strings(std::uint32_t shard) const {
  return {shape_, shards_[shard].sizes, shards_[shard].payload.data(), lengths_.data()};
}

}  // namespace warpmer::backend
