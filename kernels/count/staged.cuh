#pragma once
/// Super-k-mers as the cut leaves them, in any order (staging), and the split of them by list: count, scan,
/// place (HashGraph's binning, WarpDrive's multisplit). What a split leaves is a segment.

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
  static constexpr std::uint64_t kStagingBytes = sizeof(SuperKmer<Words>) + sizeof(Place);

  StagedWords(std::uint32_t list_bits, std::uint32_t staging_words, cudaStream_t stream);

  [[nodiscard]] Staging<Words> staging() const {
    return {staged_words_.data(), places_.data(), region_capacity_, sizes_.data(), lists_.data()};
  }

  /// Splits what is staged; staging is empty then. All lists are in the segment, which has one part, or none
  /// when nothing was staged. Waits for the stream before, and leaves the work of splitting in it.
  [[nodiscard]] Segment<Words> split();

  /// Words staged now, by region; places not used among them. Waits for the stream.
  [[nodiscard]] std::array<std::uint32_t, kRegions> staged() const;
  /// Whether the fullest region is so full that a split is due.
  [[nodiscard]] bool is_half_full() const {
    const auto sizes = staged();
    return *std::max_element(sizes.begin(), sizes.end()) > region_capacity_ / 2;
  }

  /// Device memory of the largest segment that a split can leave.
  [[nodiscard]] std::uint64_t segment_bytes() const {
    const auto lists = static_cast<std::uint32_t>(lists_.size() - 1);
    return Segment<Words>::bytes_for(staging().capacity(), lists, 1);
  }

 private:
  cudaStream_t stream_;
  std::uint32_t region_capacity_;
  DeviceArray<SuperKmer<Words>> staged_words_;
  DeviceArray<Place> places_;
  DeviceArray<std::uint32_t> sizes_;
  DeviceArray<unsigned long long> lists_;
  DeviceArray<char> scan_scratch_;
};

}  // namespace warpmer::gpu
