#pragma once
/// Learns how often k-mers occur that are about to be frozen.

#include <cstdint>

#include "backend/tally.h"
#include "kernels/count/count.cuh"
#include "kernels/freeze/ordered_kmers.cuh"
#include "kernels/memory/device_memory.cuh"

namespace warpmer::gpu {

/// Takes note of counts below CountHistogram::kTallies on the device, and hands out the others.
template <class Key>
class CountTally {
 public:
  /// Device memory for large counts on their way to the host.
  static constexpr std::uint32_t kMostAtOnce = 1u << 16;
  static constexpr std::uint64_t kBytes = kMostAtOnce * sizeof(std::uint64_t);

  CountTally() : large_(kMostAtOnce), size_(1), host_size_(1) {}

  /// Adds small counts to `tallies`, which has kTallies numbers, and notes the others in `large`. The thread
  /// waits for the device.
  void note(const OrderedKmers<Key>& kmers, unsigned long long* tallies, backend::Tally& large,
            cudaStream_t stream);

 private:
  std::uint32_t note_range(const OrderedKmers<Key>& kmers, std::uint32_t begin, std::uint32_t end,
                           unsigned long long* tallies, cudaStream_t stream);
  void take_large(std::uint32_t n, backend::Tally& large, cudaStream_t stream);

  DeviceArray<std::uint64_t> large_;
  DeviceArray<std::uint32_t> size_;  ///< of large counts, also of those that there was no room for
  PinnedArray<std::uint32_t> host_size_;
};

}  // namespace warpmer::gpu
