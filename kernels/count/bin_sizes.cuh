#pragma once
/// The numbers of k-mers in the bins and shards of a device, and the bins that are much longer than the
/// others.

#include <cstdint>
#include <vector>

#include "kernels/count/counted.cuh"
#include "kernels/memory/device_memory.cuh"

namespace warpmer::gpu {

/// K-mers that wait to be counted.
template <class Key>
struct WaitingKmers {
  const unsigned long long* bin_kmers;  ///< number for each bin, on the device
  const CountedView<Key>* run;          ///< (host pointer) the result of an earlier count; or null
};

template <class Key>
class BinSizes {
 public:
  /// Bytes of device memory for each bin.
  static constexpr std::uint64_t kBinBytes = sizeof(std::uint32_t);

  /// Is for the bins [first_bin, end_bin), which are whole shards. All work is in one stream, and every
  /// call waits for it.
  BinSizes(std::uint32_t first_bin, std::uint32_t end_bin, std::uint32_t bins_per_shard, cudaStream_t stream);

  /// Returns the number of k-mers of each shard, both pending and counted.
  [[nodiscard]] std::vector<unsigned long long> of_shards(const WaitingKmers<Key>& kmers);

  /// From now on bins of [first, end) with more than `longest` k-mers are long, and no others.
  void find_long_bins(const WaitingKmers<Key>& kmers, std::uint32_t first, std::uint32_t end,
                      std::uint64_t longest);
  /// Returns the long bins of [first, end), in order.
  [[nodiscard]] std::vector<std::uint32_t> long_bins(std::uint32_t first, std::uint32_t end) const;

 private:
  const std::uint32_t first_bin_, bins_per_shard_;
  const cudaStream_t stream_;
  DeviceArray<unsigned long long> loads_;
  DeviceArray<std::uint32_t> found_, found_size_;
  std::vector<std::uint32_t> long_bins_;  ///< in order
};

}  // namespace warpmer::gpu
