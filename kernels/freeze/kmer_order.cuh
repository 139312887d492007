#pragma once
/// Puts k-mers in the order of groups (ordered_kmers.cuh): those that were counted, or those of strings.

#include <cstdint>

#include "kernels/count/counted.cuh"
#include "kernels/freeze/ordered_kmers.cuh"
#include "kernels/memory/device_memory.cuh"
#include "kernels/memory/scan_memory.cuh"

namespace warpmer::gpu {

/// A shard is counted in so many bins at most.
inline constexpr std::uint32_t kMostBinsPerShard = 256;

/// Counted k-mers of consecutive shards.
template <class Kmer>
struct CountedShards {
  CountedView<Kmer> counted;  ///< its keys and counts are lost: their memory is used for other things
  std::uint32_t first_shard, shards;
  std::uint32_t bins_per_shard;
  /// True when bin i of a shard's 2^b bins has the groups whose ids below the shard's number begin with i.
  bool bins_are_ordered;
  std::uint64_t entries;  ///< k-mers of all shards, below 2^32
  /// So many neighbouring bins, a power of two, have the same groups.
  std::uint32_t bins_per_part = 1;
};

/// Memory of counted k-mers that have been ordered: room for three numbers for each.
struct SpareNumbers {
  std::uint32_t *first, *second, *third;

  template <class Kmer>
  explicit SpareNumbers(const CountedShards<Kmer>& shards)
      : SpareNumbers(shards.counted.keys, shards.counted.counts, shards.entries) {}
  template <class Key>
  SpareNumbers(Key* keys, std::uint32_t* counts, std::uint64_t n)
      : first(reinterpret_cast<std::uint32_t*>(keys)), second(first + n), third(counts) {}
};

/// The form in which k-mers come. Of hashes no two are equal.
enum class OrderInput { hashes, keys };

/// Orders k-mers, and owns the memory for them. `Kmer` holds a k-mer as it comes, `Key` its key in a shard.
template <class Kmer, class Key, OrderInput kInput = OrderInput::hashes>
class GroupedOrder {
 public:
  GroupedOrder(std::uint32_t k, bool canonical) : keys_(k), canonical_(canonical) {}

  /// Enqueues the ordering of k-mers. They are valid until the next call. Equal keys stand in any order;
  /// their counts, which may be numbers of any meaning, stand beside them, and there is no list of big ones.
  OrderedKmers<Key> order(const CountedShards<Kmer>& shards, cudaStream_t stream);
  /// Returns the memory of so many that are not needed any more.
  [[nodiscard]] SpareNumbers spare(std::uint64_t n) const { return {sorted_.data(), counts_.data(), n}; }

 private:
  groups::GroupKeys<Key, Key> keys_;
  bool canonical_;
  DeviceArray<Key> sorted_;
  DeviceArray<std::uint32_t> counts_;
  DeviceArray<std::uint64_t> segment_begins_;  ///< see OrderTask, in the source
  DeviceArray<std::uint32_t> piece_segments_;
  DeviceArray<std::uint32_t> shard_begins_;
  DeviceArray<std::uint32_t> most_pieces_;
  DeviceArray<BigKmer> big_;
  ScanMemory scan_memory_;
};

}  // namespace warpmer::gpu
