#pragma once
/// The frozen shards of an index on a GPU, or spread over several, as they are stored.

#include <cstdint>
#include <memory>
#include <vector>

#include "index/index_file.h"
#include "index/shard_codec.h"
#include "kernels/exchange/peers.cuh"
#include "kernels/memory/device_memory.cuh"
#include "kernels/upload/index_payloads.cuh"

namespace warpmer::gpu {

/// The payloads of an index in the memory of one GPU, or of several, each of which has a range of shards.
class FrozenPayloads {
 public:
  /// Copies the payloads to all GPUs at once, and checks every shard, with all cores there are up to some
  /// number. `index` need not outlive it.
  FrozenPayloads(const index::IndexFile& index, const std::vector<int>& gpus);
  /// Returns all payloads in the memory of each GPU: a part comes from the host, the others from GPU to GPU.
  static std::vector<std::shared_ptr<const FrozenPayloads>> copies(const index::IndexFile& index,
                                                                   Peers& peers);
  ~FrozenPayloads();
  FrozenPayloads(const FrozenPayloads&) = delete;
  FrozenPayloads& operator=(const FrozenPayloads&) = delete;

  /// Returns a shard's payload in its GPU's memory.
  [[nodiscard]] index::ShardView view(std::uint32_t shard) const;
  [[nodiscard]] std::uint32_t shards() const { return static_cast<std::uint32_t>(shapes_.size()); }
  [[nodiscard]] std::uint32_t k() const { return k_; }
  /// Return the GPUs, and the number of the one that has a shard.
  [[nodiscard]] std::vector<int> gpus() const;
  [[nodiscard]] std::uint32_t owner_of(std::uint32_t shard) const;

 private:
  /// Makes room for the payloads.
  FrozenPayloads(const index::IndexFile& index, const std::vector<int>& gpus,
                 const std::vector<std::uint32_t>& begins);

  /// A GPU's range of shards.
  struct PayloadPart {
    int gpu = 0;
    std::uint32_t first_shard = 0, end_shard = 0;
    DeviceArray<std::uint64_t> words;  ///< one payload behind the other
  };

  std::uint32_t k_;
  std::vector<index::ShardShape> shapes_;
  std::vector<std::uint64_t> first_words_;  ///< number of each shard's first word among all; and the end
  std::vector<PayloadPart> parts_;
};

/// The shards of an index, to be read by one GPU.
template <class Key>
class FrozenShards {
 public:
  using Reader = index::ShardReader<Key>;

  /// Makes readers for the current device, which must reach the memory of the payloads.
  explicit FrozenShards(std::shared_ptr<const FrozenPayloads> payloads);
  /// Copies the payloads to the current device.
  explicit FrozenShards(const index::IndexFile& index);

  /// Returns the readers, by shard, on the device, for use there.
  [[nodiscard]] const Reader* readers() const { return readers_.data(); }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(readers_.size()); }

 private:
  std::shared_ptr<const FrozenPayloads> payloads_;
  DeviceArray<Reader> readers_;
};

/// Returns the number of words of each shard's payload. Reads no shard.
std::vector<std::uint64_t> shard_words(const IndexPayloads& source);
/// Returns, by shard, the number of words of all payloads before the shard's, and in the end of all.
std::vector<std::uint64_t> first_words(const IndexPayloads& source);
/// Returns the number of threads with which copying so many words to a device is fastest, while as many are
/// copied to each of `devices`.
unsigned upload_threads(std::uint64_t words, std::size_t devices = 1);

/// Returns the most device memory that the shards take on each of so many GPUs that share them. Reads no
/// shard.
std::uint64_t frozen_shards_bytes(const index::IndexFile& index, std::uint32_t gpus = 1);

extern template class FrozenShards<Key64>;
extern template class FrozenShards<Key128>;

}  // namespace warpmer::gpu
