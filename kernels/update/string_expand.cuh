#pragma once
/// Frozen shards of strings back into k-mers with counts, on the device: what is merged, as freezing takes
/// counted k-mers.

#include <cstdint>

#include "groups/group_key.h"
#include "groups/shard_bits.h"
#include "kernels/freeze/kmer_order.cuh"
#include "kernels/memory/device_memory.cuh"
#include "kernels/memory/scan_memory.cuh"

namespace warpmer::gpu {

/// The shards of one number that are merged, and their order.
enum class MergeInput : std::uint32_t { was, added, removed };
inline constexpr std::uint32_t kMergeInputs = 3;
/// In the number of an expanded k-mer, the lowest bit of its MergeInput; its place is below that.
inline constexpr std::uint32_t kInputBit = 30;
/// So many k-mers are expanded at once at most.
inline constexpr std::uint64_t kMostExpanded = std::uint64_t{1} << kInputBit;

/// A frozen shard on the device, or none.
struct StringShard {
  groups::ShardSizes sizes;
  const std::uint64_t* payload = nullptr;
};

/// Consecutive shards that are merged together.
class MergeShards {
 public:
  MergeShards(std::uint32_t k, std::uint32_t most_shards);

  void clear() { shards_ = 0; }
  /// Adds what there is of the next shard.
  void add(const StringShard& was, const StringShard& added, const StringShard& removed);

  [[nodiscard]] std::uint32_t shards() const { return shards_; }
  [[nodiscard]] std::uint32_t inputs() const { return shards_ * kMergeInputs; }
  /// Return the numbers of all: k-mers, buckets, records of large groups.
  [[nodiscard]] std::uint64_t kmers() const { return shards_ == 0 ? 0 : kmers_; }
  [[nodiscard]] std::uint32_t buckets() const { return shards_ == 0 ? 0 : bucket_begins_[inputs()]; }
  [[nodiscard]] std::uint32_t records() const { return shards_ == 0 ? 0 : record_begins_[inputs()]; }
  /// Return, for each input of each shard: its bits; and how many buckets and records there are before it.
  /// The two latter have the end behind them. They must stay until a copy from them has ended.
  [[nodiscard]] const groups::ShardBits* bits() const { return bits_.data(); }
  [[nodiscard]] const std::uint32_t* bucket_begins() const { return bucket_begins_.data(); }
  [[nodiscard]] const std::uint32_t* record_begins() const { return record_begins_.data(); }

 private:
  const groups::GroupShape shape_;
  DeviceArray<groups::FlankLengths> lengths_;
  PinnedArray<groups::ShardBits> bits_;
  PinnedArray<std::uint32_t> bucket_begins_, record_begins_;
  std::uint32_t shards_ = 0;
  std::uint64_t kmers_ = 0;
};

/// Expands shards, and owns the memory for it. All calls are for one stream.
template <class Key>
class StringExpander {
 public:
  StringExpander(std::uint32_t k, std::uint32_t most_shards);

  /// Device memory for each k-mer: its key, number and count.
  static constexpr std::uint64_t kKmerBytes = sizeof(Key) + sizeof(std::uint32_t) + sizeof(std::uint64_t);
  /// For a part of a shard, one to two for kPartKmers k-mers.
  static constexpr std::uint64_t kPartBytes = 4 * (sizeof(std::uint32_t) + sizeof(std::uint64_t)) + 64;
  static constexpr std::uint64_t kPartKmers = 1536;

  /// Enqueues the expansion. K-mers are keys, and their counts numbers: MergeInput and place. They are valid
  /// until the next call.
  CountedShards<Key> expand(const MergeShards& shards, cudaStream_t stream);
  /// Returns the count of each k-mer, by its place.
  [[nodiscard]] const std::uint64_t* counts() const { return counts_.data(); }

 private:
  groups::GroupKeys<Key, Key> keys_;
  DeviceArray<groups::ShardBits> bits_;
  DeviceArray<std::uint32_t> bucket_begins_, record_begins_;
  DeviceArray<std::uint32_t> record_rests_;
  DeviceArray<std::uint32_t> sizes_;
  DeviceArray<std::uint64_t> begins_;
  DeviceArray<Key> out_keys_;
  DeviceArray<std::uint32_t> numbers_;
  DeviceArray<std::uint64_t> counts_;
  ScanMemory scan_memory_;
};

}  // namespace warpmer::gpu
