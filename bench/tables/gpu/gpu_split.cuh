#pragma once
/// Splits before inserting: pairs are put in order of the part of the table to which they go, so that a part
/// is in the L2 while it is inserted into. (HashGraph V2 of Green 2019 bins its input for the same reason.)

#include <cstddef>
#include <cstdint>

#include "kernels/memory/device_memory.cuh"

namespace warpmer::bench {

/// Room to put up to `size` pairs in order of 256 parts.
class Splitter {
 public:
  explicit Splitter(std::size_t size);
  /// Returns an array with a part for each pair, which the caller fills in the default stream.
  [[nodiscard]] std::uint8_t* parts() const { return parts_.data(); }
  /// Returns the pairs in order of their parts, valid until the next call.
  const std::uint64_t* split(const std::uint64_t* pairs);

 private:
  std::size_t size_;
  gpu::DeviceArray<std::uint8_t> parts_, ordered_parts_;
  gpu::DeviceArray<std::uint64_t> ordered_;
  gpu::DeviceArray<char> scratch_;
};

/// Sets all words to one value, in the default stream.
void fill_words(std::uint64_t* words, std::size_t size, std::uint64_t word);

}  // namespace warpmer::bench
