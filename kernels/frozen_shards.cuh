#pragma once
/// The frozen shards of an index on the device, as they are stored.

#include <cstdint>

#include "device_memory.cuh"
#include "index/index_file.h"
#include "index/shard_codec.h"

namespace warpmer::gpu {

template <class Key>
class FrozenShards {
 public:
  using Reader = index::ShardReader<Key>;

  /// Copies them to the current device, checking every one, with all cores there are up to some number.
  /// `index` need not outlive it.
  explicit FrozenShards(const index::IndexFile& index);

  /// By shard, on the device, for use there.
  [[nodiscard]] const Reader* readers() const { return readers_.data(); }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(readers_.size()); }

 private:
  DeviceArray<std::uint64_t> payloads_;  ///< of all shards, one behind the other
  DeviceArray<Reader> readers_;
};

/// Device memory that they take. Reads no shard.
std::uint64_t frozen_shards_bytes(const index::IndexFile& index);

extern template class FrozenShards<Key64>;
extern template class FrozenShards<Key128>;

}  // namespace warpmer::gpu
