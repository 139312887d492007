#pragma once
/// Counts bins that are too long for one block (a hot minimizer: poly-A, a huge repeat family). All blocks
/// count such a bin together, in a WarpDrive table in device memory, which stays in the L2 cache while it is
/// small.

#include <cstdint>

#include "kernels/count/count.cuh"
#include "kernels/count/hash_range.cuh"

namespace warpmer::gpu {

/// The state of a bin's count, on the device.
template <class Key>
struct LongBinState {
  std::uint32_t full;
  unsigned long long size;
  unsigned long long kept;  ///< entries to be kept
  unsigned long long next;  ///< position in the output at which the next entry goes
  /// Counts wrap as often as device memory can hold 2^32 k-mers.
  CountsBeside<Key, 4096> beside;
};

template <class Key, int Words>
class LongBinCounter {
 public:
  /// The table is never larger than `most_bytes`, or than the least that works.
  explicit LongBinCounter(std::uint64_t most_bytes);

  /// Returns an upper bound of the device memory that counting bins holds.
  [[nodiscard]] std::uint64_t most_bytes() const;

  /// Counts one bin of the task, as launch_count counts those that it does not skip. Waits for the stream.
  void count(const CountTask<Key, Words>& task, std::uint32_t bin, cudaStream_t stream);

 private:
  struct Built {
    bool fits;
    std::uint64_t size;
  };
  Built build(const CountTask<Key, Words>& task, std::uint32_t bin, const HashRange<Key>& part,
              cudaStream_t stream);
  Built try_build(const CountTask<Key, Words>& task, std::uint32_t bin, const HashRange<Key>& part,
                  cudaStream_t stream);
  template <class Take>
  void for_each_part(const CountTask<Key, Words>& task, std::uint32_t bin, cudaStream_t stream, Take&& take);

  std::uint32_t most_slot_bits_;
  std::uint32_t slot_bits_;
  DeviceArray<Key> keys_;
  DeviceArray<std::uint32_t> counts_;
  DeviceArray<LongBinState<Key>> state_;
};

}  // namespace warpmer::gpu
