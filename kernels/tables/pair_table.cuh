#pragma once
/// One GPU's WarpDrive table of 32-bit keys with 32-bit values, of which a DistributedTable has one on each
/// device.

#include <cstddef>
#include <cstdint>

#include "kernels/memory/device_memory.cuh"
#include "table/word_slots.h"

namespace warpmer::gpu {

/// The answer for a key that is not there. Values are smaller.
inline constexpr std::uint32_t kNoValue = ~0u;

/// Calls may use any streams of the device that was current when the table was made. Insertions may run side
/// by side, and so may lookups, but not both.
class PairTable {
 public:
  /// Makes at least `least_slots` slots, all empty. With another seed keys go to other slots.
  PairTable(std::size_t least_slots, std::uint32_t seed);

  [[nodiscard]] std::size_t slots() const { return words_.size(); }
  void clear(cudaStream_t stream);
  /// Inserts `n` pairs (table::word_of key and value) in device memory. Values of the same key are added up.
  void insert(const std::uint64_t* pairs, std::size_t n, cudaStream_t stream) const;
  /// Writes the values of `n` keys, or kNoValue, to `answers`; all arrays are in device memory.
  void find(const table::Key32* keys, std::size_t n, std::uint32_t* answers, cudaStream_t stream) const;
  /// Returns the number of pairs for which there was no room since the last `clear`. All insertions must be
  /// done.
  [[nodiscard]] std::uint64_t overflow() const;

 private:
  std::uint32_t windows_;
  std::uint32_t seed_;
  DeviceArray<std::uint64_t> words_;
  DeviceArray<unsigned long long> overflow_;
  std::uint32_t grid_;  ///< number of blocks that the device holds at once
};

}  // namespace warpmer::gpu
