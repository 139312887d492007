#pragma once
/// Ordered k-mers of the shards of one number become those of one shard: counts of a k-mer are added up, and
/// what is removed is taken away.

#include <cstdint>

#include "backend/update_session.h"
#include "kernels/freeze/ordered_kmers.cuh"
#include "kernels/memory/device_memory.cuh"
#include "kernels/memory/scan_memory.cuh"

namespace warpmer::gpu {

/// The k-mers of `removed` that were not there, or not so often (backend::Shortfall).
struct ShortfallCounts {
  unsigned long long absent_kmers, absent_occurrences, short_kmers, short_occurrences;
};

/// Combines, and owns some of the memory for it. All calls are for one stream.
template <class Key>
class KmerCombiner {
 public:
  explicit KmerCombiner(cudaStream_t stream);

  /// Device memory for each k-mer: its count, where some do not fit 32 bits.
  static constexpr std::uint64_t kKmerBytes = sizeof(std::uint64_t);

  /// Returns the k-mers that are left, in order, in `left_keys` and `left_counts`, which have room for all
  /// and are other memory than that of `kmers`. Counts of `kmers` are MergeInput and place of what `counts`
  /// has (string_expand.cuh). They are valid until the next call. The thread waits for the device.
  OrderedKmers<Key> combine(const OrderedKmers<Key>& kmers, const std::uint64_t* counts, Key* left_keys,
                            std::uint32_t* left_counts, cudaStream_t stream);
  /// Returns the sums over all calls. The thread waits for the device.
  [[nodiscard]] backend::Shortfall shortfall(cudaStream_t stream) const;

 private:
  DeviceArray<std::uint32_t> tile_begins_;
  DeviceArray<std::uint32_t> shard_begins_;
  DeviceArray<std::uint64_t> wide_;
  DeviceArray<std::uint32_t> big_size_{1};
  DeviceArray<ShortfallCounts> shortfall_{1};
  PinnedArray<std::uint32_t> host_sizes_{2};
  ScanMemory scan_memory_;
};

}  // namespace warpmer::gpu
