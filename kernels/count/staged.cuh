#pragma once
/// Super-k-mers as the cut leaves them, in any order (staging), and their split by bin: count, scan, place
/// (HashGraph's binning, WarpDrive's multisplit). The result of a split is a segment.

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/count/segment.cuh"
#include "kernels/memory/device_memory.cuh"
#include "kernels/text/cut.cuh"

namespace warpmer::gpu {

template <int Words>
class StagedWords {
 public:
  /// Bytes of staging for each word of its capacity.
  static constexpr std::uint64_t kStagingBytes = sizeof(SuperKmer<Words>) + sizeof(WordPlace);

  StagedWords(std::uint32_t bin_bits, std::uint32_t staging_words, cudaStream_t stream);

  [[nodiscard]] Staging<Words> staging() const {
    return {staged_words_.data(), places_.data(), region_capacity_, sizes_.data(), bins_.data()};
  }

  /// Splits the staged words; staging is empty then. The segment has all bins, and one part, or none when
  /// nothing was staged. The call first waits for the stream, and leaves the work of splitting in it.
  [[nodiscard]] Segment<Words> split();

  /// Returns the number of words staged now, by region, unused places included. Waits for the stream.
  [[nodiscard]] std::array<std::uint32_t, kRegions> staged() const;
  /// True when the fullest region is so full that a split is due.
  [[nodiscard]] bool is_half_full() const {
    const auto sizes = staged();
    return *std::max_element(sizes.begin(), sizes.end()) > region_capacity_ / 2;
  }

  /// Returns the device memory of the largest segment that a split can leave.
  [[nodiscard]] std::uint64_t segment_bytes() const {
    const auto bins = static_cast<std::uint32_t>(bins_.size() - 1);
    return Segment<Words>::bytes_for(staging().capacity(), bins, 1);
  }

 private:
  cudaStream_t stream_;
  std::uint32_t region_capacity_;
  DeviceArray<SuperKmer<Words>> staged_words_;
  DeviceArray<WordPlace> places_;
  DeviceArray<std::uint32_t> sizes_;
  DeviceArray<unsigned long long> bins_;
  DeviceArray<char> scan_scratch_;
};

}  // namespace warpmer::gpu
