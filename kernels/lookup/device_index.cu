// Looking up in an index that is there as a whole: a block answers for a tile of text, and writes its answers
// together.

#include "groups/group_key.h"
#include "index/shard_codec.h"
#include "kernels/lookup/device_index.cuh"
#include "kernels/lookup/run_tile.cuh"
#include "kernels/text/kmer_tile.cuh"
#include "kernels/upload/frozen_shards.cuh"

namespace warpmer::gpu {

namespace {

/// Blocks of a multiprocessor, which registers must do for: loads of some are under way while others work.
constexpr std::uint32_t kLookupBlocks = 4;

template <class Key, class Flanks>
__global__ __launch_bounds__(kTileThreads,
                             kLookupBlocks) void look_up_kernel(const char* text, std::uint32_t bytes,
                                                                index::IndexParams params, ShardsThere shards,
                                                                std::uint32_t* answers, CutStatus* status) {
  __shared__ RunTile tile;
  const std::uint32_t first = blockIdx.x * kTileStarts;
  pack_tile(tile, text, first, bytes, status);
  const std::uint32_t valid = cut_into_runs(tile, params);
  answer_tile<Key, Flanks, true>(tile, valid, params, shards);
  const auto* const from = reinterpret_cast<const uint4*>(tile.answers);
  auto* const to = reinterpret_cast<uint4*>(answers + first);
  for (std::uint32_t i = threadIdx.x; i < kTileStarts / 4; i += kTileThreads) __stcs(to + i, from[i]);
}

/// For k up to kMaxDenseK.
__global__ __launch_bounds__(kTileThreads) void look_up_entries_kernel(const char* text, std::uint32_t bytes,
                                                                       index::IndexParams params,
                                                                       index::ShardReader shard,
                                                                       std::uint32_t* answers,
                                                                       CutStatus* status) {
  __shared__ KmerTile tile;
  const std::uint32_t first = blockIdx.x * kTileStarts;
  tile.pack(text, first, bytes, params.k, status);
  const KmerHash<Key64> hash(params.k);
  for (std::uint32_t start = threadIdx.x; start < kTileStarts; start += kTileThreads) {
    std::uint32_t answer = kNoKmerAnswer;
    if (tile.has_kmer(start))
      answer = answer_of(shard.find(hash(tile.kmer<Key64>(start, params.k, params.canonical))));
    answers[first + start] = answer;
  }
}

template <class Key, class Flanks>
class LoadedStrings : public DeviceIndex {
 public:
  explicit LoadedStrings(std::shared_ptr<const FrozenPayloads> payloads)
      : params_(payloads->params()), shards_(std::move(payloads)) {}

  void look_up(const char* text, std::uint32_t bytes, std::uint32_t starts, std::uint32_t* answers,
               CutStatus* status, cudaStream_t stream) const override {
    if (starts == 0) return;
    look_up_kernel<Key, Flanks><<<tiles_of(starts), kTileThreads, 0, DriverLock::Shared(stream)>>>(
        text, bytes, params_, shards_.there(), answers, status);
    check_launch("looking k-mers up");
  }

 private:
  index::IndexParams params_;
  FrozenShards shards_;
};

class LoadedEntries : public DeviceIndex {
 public:
  explicit LoadedEntries(std::shared_ptr<const FrozenPayloads> payloads) : payloads_(std::move(payloads)) {}

  void look_up(const char* text, std::uint32_t bytes, std::uint32_t starts, std::uint32_t* answers,
               CutStatus* status, cudaStream_t stream) const override {
    if (starts == 0) return;
    const index::ShardReader shard(payloads_->entries(), payloads_->params().k);
    look_up_entries_kernel<<<tiles_of(starts), kTileThreads, 0, DriverLock::Shared(stream)>>>(
        text, bytes, payloads_->params(), shard, answers, status);
    check_launch("looking k-mers up");
  }

 private:
  std::shared_ptr<const FrozenPayloads> payloads_;
};

}  // namespace

std::unique_ptr<DeviceIndex> load_index(std::shared_ptr<const FrozenPayloads> payloads) {
  const std::uint32_t k = payloads->params().k;
  if (k <= kMaxDenseK) return std::make_unique<LoadedEntries>(std::move(payloads));
  return groups::with_key_types(k, [&]<class Key, class Flanks>() -> std::unique_ptr<DeviceIndex> {
    return std::make_unique<LoadedStrings<Key, Flanks>>(std::move(payloads));
  });
}

std::unique_ptr<DeviceIndex> load_index(const index::IndexFile& index) {
  return load_index(std::make_shared<const FrozenPayloads>(index, std::vector<int>{current_gpu()}));
}

}  // namespace warpmer::gpu
