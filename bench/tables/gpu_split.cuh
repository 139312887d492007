#pragma once
/// Split first, then insert: pairs in order of the part of the table they go to, so that a part is in the L2
/// while it is inserted into (Green 2019, HashGraph V2, bins its input for the same reason).

#include <cstddef>
#include <cstdint>

#include "kernels/memory/device_memory.cuh"

namespace warpmer::bench {

/// Room to put up to `size` pairs in order of 256 parts.
class Splitter {
 public:
  explicit Splitter(std::size_t size);
  /// One for each pair, to be filled by the caller, in the default stream.
  [[nodiscard]] std::uint8_t* parts() const { return parts_.data(); }
  /// The pairs in order of their parts, until the next call.
  const std::uint64_t* split(const std::uint64_t* pairs);

 private:
  std::size_t size_;
  gpu::DeviceArray<std::uint8_t> parts_, ordered_parts_;
  gpu::DeviceArray<std::uint64_t> ordered_;
  gpu::DeviceArray<char> scratch_;
};

/// All words the same, in the default stream.
void fill_words(std::uint64_t* words, std::size_t size, std::uint64_t word);

}  // namespace warpmer::bench
