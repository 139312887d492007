// Looking k-mers up in the frozen shards: minimizer, shard, bucket.

#include "kernels/exchange/peers.cuh"
#include "kernels/upload/device_index.cuh"
#include "kernels/upload/frozen_shards.cuh"
#include "kernels/upload/shard_tile.cuh"

namespace warpmer::gpu {

namespace {

/// A block answers for a tile.
template <class Key>
__global__ __launch_bounds__(kTileThreads) void look_up_kernel(const char* text, std::uint32_t bytes,
                                                               index::IndexParams params,
                                                               ShardsThere<Key> shards,
                                                               std::uint32_t* answers, CutStatus* status) {
  __shared__ ShardTile tile;
  const std::uint32_t first = blockIdx.x * kTileStarts;
  pack_tile(tile, text, first, bytes, status);
  __syncthreads();
  find_shards(tile, params);
  __syncthreads();
  answer_tile(tile, first, params, shards, answers);
}

template <class Key>
class LoadedIndex : public DeviceIndex {
 public:
  LoadedIndex(const index::IndexParams& params, std::shared_ptr<const FrozenPayloads> payloads)
      : params_(params), shards_(std::move(payloads)) {}

  void look_up(const char* text, std::uint32_t bytes, std::uint32_t starts, std::uint32_t* answers,
               CutStatus* status, cudaStream_t stream) const override {
    if (starts == 0) return;
    look_up_kernel<Key><<<tiles_of(starts), kTileThreads, 0, DriverLock::Shared(stream)>>>(
        text, bytes, params_, {shards_.readers(), 0, shards_.size()}, answers, status);
    check_launch("looking k-mers up");
  }

 private:
  index::IndexParams params_;
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
