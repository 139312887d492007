// Looking k-mers up in the frozen shards: minimizer, shard, bucket.

#include "core/hash.h"
#include "core/minimizer.h"
#include "device_index.cuh"
#include "frozen_shards.cuh"
#include "peers.cuh"
#include "text_tile.cuh"

namespace warpmer::gpu {

namespace {

struct LookupTile : TextTile, MinimizerTile {
  std::uint16_t shards[kTileStarts];  ///< by start
  std::uint8_t valid[kTileThreads];   ///< eight starts each: those without breaks
};

/// Fills `tile.valid` and `tile.shards`.
__device__ void find_shards(LookupTile& tile, const LookupParams& params) {
  const std::uint32_t first = threadIdx.x * kStartsPerThread;
  tile.valid[threadIdx.x] = static_cast<std::uint8_t>(valid_starts(tile, first, params.k));
  if (params.shard_bits == 0) return;  // the same for all threads
  hash_mmers(tile, tile, params.m, kTileStarts + params.k - params.m);
  __syncthreads();
  std::uint32_t minimizer[kStartsPerThread];
  window_minima(tile, first, params.k - params.m + 1, minimizer);
#pragma unroll
  for (std::uint32_t j = 0; j < kStartsPerThread; ++j)
    tile.shards[first + j] = static_cast<std::uint16_t>(shard_of(minimizer[j], params.shard_bits));
}

/// A block answers for a tile. Neighbouring lanes take neighbouring starts, most of which share a shard.
template <class Key>
__global__ __launch_bounds__(kTileThreads) void look_up_kernel(const char* text, std::uint32_t bytes,
                                                               LookupParams params, ShardsThere<Key> shards,
                                                               std::uint32_t* answers, CutStatus* status) {
  static_assert(kStartsPerThread == 8, "the valid starts of a thread are a byte");
  __shared__ LookupTile tile;
  const std::uint32_t first = blockIdx.x * kTileStarts;
  pack_tile(tile, text, first, bytes, status);
  __syncthreads();
  find_shards(tile, params);
  __syncthreads();
  const KmerHash<Key> hash(params.k);
#pragma unroll 1
  for (std::uint32_t start = threadIdx.x; start < kTileStarts; start += kTileThreads) {
    std::uint32_t answer = kNoKmerAnswer;
    if (((tile.valid[start / 8] >> (start % 8)) & 1) != 0) {
      const std::uint32_t shard = (params.shard_bits == 0 ? 0u : tile.shards[start]) - shards.first;
      if (shard >= shards.count) continue;  // it is not there, and below 0 has wrapped
      const std::uint64_t count =
          shards.readers[shard].find(hash(kmer_at<Key>(tile, start, params.k, params.canonical)));
      answer = count < kLargeCountAnswer ? static_cast<std::uint32_t>(count) : kLargeCountAnswer;
    }
    answers[first + start] = answer;
  }
}

}  // namespace

template <class Key>
void look_up_in_shards(const char* text, std::uint32_t bytes, std::uint32_t starts,
                       const LookupParams& params, const ShardsThere<Key>& shards, std::uint32_t* answers,
                       CutStatus* status, cudaStream_t stream) {
  if (starts == 0) return;
  look_up_kernel<Key>
      <<<tiles_of(starts), kTileThreads, 0, stream>>>(text, bytes, params, shards, answers, status);
  check_launch("looking k-mers up");
}
template void look_up_in_shards(const char*, std::uint32_t, std::uint32_t, const LookupParams&,
                                const ShardsThere<Key64>&, std::uint32_t*, CutStatus*, cudaStream_t);
template void look_up_in_shards(const char*, std::uint32_t, std::uint32_t, const LookupParams&,
                                const ShardsThere<Key128>&, std::uint32_t*, CutStatus*, cudaStream_t);

namespace {

template <class Key>
class LoadedIndex : public DeviceIndex {
 public:
  LoadedIndex(const index::IndexParams& params, std::shared_ptr<const FrozenPayloads> payloads)
      : params_(params), shards_(std::move(payloads)) {}

  void look_up(const char* text, std::uint32_t bytes, std::uint32_t starts, std::uint32_t* answers,
               CutStatus* status, cudaStream_t stream) const override {
    look_up_in_shards<Key>(text, bytes, starts, params_, {shards_.readers(), 0, shards_.size()}, answers,
                           status, stream);
  }

 private:
  LookupParams params_;
  FrozenShards<Key> shards_;
};

}  // namespace

std::unique_ptr<DeviceIndex> load_index(const index::IndexParams& params,
                                        std::shared_ptr<const FrozenPayloads> payloads) {
  return with_key_type(params.k, [&]<class Key>(Key) -> std::unique_ptr<DeviceIndex> {
    return std::make_unique<LoadedIndex<Key>>(params, std::move(payloads));
  });
}

std::unique_ptr<DeviceIndex> load_index(const index::IndexFile& index) {
  return load_index(index.params(),
                    std::make_shared<const FrozenPayloads>(index, std::vector<int>{current_gpu()}));
}

}  // namespace warpmer::gpu
