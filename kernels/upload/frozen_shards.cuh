#pragma once
/// The shards of an index on a GPU, or spread over several, as they are stored.

#include <cstdint>
#include <memory>
#include <vector>

#include "groups/quick_lookup.h"
#include "groups/shard_bits.h"
#include "index/index_file.h"
#include "kernels/exchange/peers.cuh"
#include "kernels/memory/device_memory.cuh"

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

  [[nodiscard]] const index::IndexParams& params() const { return params_; }
  /// Returns a shard's payload in its GPU's memory.
  [[nodiscard]] const std::uint64_t* payload(std::uint32_t shard) const;
  /// Returns its sizes, for k above kMaxDenseK.
  [[nodiscard]] const groups::ShardSizes& sizes(std::uint32_t shard) const { return sizes_[shard]; }
  /// Returns the one shard there is for other k.
  [[nodiscard]] index::ShardView entries() const;
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

  index::IndexParams params_;
  std::vector<groups::ShardSizes> sizes_;   ///< of strings
  index::ShardShape shape_;                 ///< of entries
  std::vector<std::uint64_t> first_words_;  ///< number of each shard's first word among all; and the end
  std::vector<PayloadPart> parts_;
};

/// Returns, on the current device, what shards of strings are read with (ShardBits::lengths).
DeviceArray<groups::FlankLengths> length_table_on_device(std::uint32_t k);

/// Some shards of strings whose payloads the device can read: `first` and those behind it.
struct ShardsThere {
  const groups::ShardBits* shards;
  const groups::ShardRecord* records;  ///< of the same shards
  const groups::FlankLengths* lengths;
  std::uint32_t first, count;
};

/// Memory on a device for what leads to shards, of which there may be some or other.
class ShardTable {
 public:
  /// Has room for so many.
  explicit ShardTable(std::uint32_t most);
  static std::uint64_t bytes(std::uint32_t most) {
    return most * (sizeof(groups::ShardBits) + sizeof(groups::ShardRecord));
  }

  /// Enqueues that these are the shards, `first` and those behind it, whose payloads `shards` name. When this
  /// is called again, the copies of the time before must be over.
  void set(std::uint32_t first, const std::vector<groups::ShardBits>& shards, cudaStream_t stream);
  [[nodiscard]] const ShardsThere& there() const { return there_; }

 private:
  DeviceArray<groups::ShardBits> shards_;
  DeviceArray<groups::ShardRecord> records_;
  PinnedArray<groups::ShardBits> made_shards_;  ///< on their way there
  PinnedArray<groups::ShardRecord> made_records_;
  ShardsThere there_{};
};

/// The shards of strings of an index, to be read by one GPU.
class FrozenShards {
 public:
  /// Is for the current device, which must reach the memory of the payloads.
  explicit FrozenShards(std::shared_ptr<const FrozenPayloads> payloads);

  /// Returns all shards.
  [[nodiscard]] const ShardsThere& there() const { return table_.there(); }

 private:
  std::shared_ptr<const FrozenPayloads> payloads_;
  DeviceArray<groups::FlankLengths> lengths_;
  ShardTable table_;
};

/// Returns the number of words of each shard's payload. Reads no shard.
std::vector<std::uint64_t> shard_words(const index::IndexFile& index);
/// Returns, by shard, the number of words of all payloads before the shard's, and in the end of all.
std::vector<std::uint64_t> first_words(const index::IndexFile& index);
/// Returns the number of threads with which copying so many words to a device is fastest, while as many are
/// copied to each of `devices`.
unsigned upload_threads(std::uint64_t words, std::size_t devices = 1);

/// Returns the most device memory that the shards, and what they are read with, take on each of so many GPUs
/// that share them. Reads no shard.
std::uint64_t frozen_shards_bytes(const index::IndexFile& index, std::uint32_t gpus = 1);

}  // namespace warpmer::gpu
