#pragma once
/// Pending super-k-mers on the device. Words come from the cut in any order (staging) and are split by
/// list from time to time: count, scan, place (HashGraph's binning, WarpDrive's multisplit). What a split
/// leaves is a segment: the words of list 0, then those of list 1, and so on. A list's pending words are
/// its parts of all segments.

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "cut.cuh"
#include "device_memory.cuh"

namespace warpmer::gpu {

/// As kernels see a segment.
template <int Words>
struct SegmentView {
  const SuperKmer<Words>* words;
  const std::uint32_t* offsets;  ///< lists + 1
};

/// More would make counting slow; staging is sized so that they suffice.
inline constexpr std::uint32_t kMostSegments = 64;

template <int Words>
class PendingWords {
 public:
  /// Bytes of staging for each word of its capacity.
  static constexpr std::uint64_t kStagingBytes = sizeof(SuperKmer<Words>) + sizeof(Place);

  PendingWords(std::uint32_t list_bits, std::uint32_t staging_words, cudaStream_t stream);

  [[nodiscard]] Staging<Words> staging() const {
    return {staged_words_.data(), places_.data(), region_capacity_, sizes_.data(), lists_.data()};
  }

  /// Splits what is staged into a new segment; staging is empty then. Waits for the stream.
  void split();

  /// Words staged now, by region; places not used among them. Waits for the stream.
  [[nodiscard]] std::array<std::uint32_t, kRegions> staged() const;
  /// Whether the fullest region is so full that a split is due.
  [[nodiscard]] bool is_half_full() const {
    const auto sizes = staged();
    return *std::max_element(sizes.begin(), sizes.end()) > region_capacity_ / 2;
  }

  /// Forgets all segments. Nothing is staged.
  void clear();

  /// Array of `segments()` descriptors on the device, up to date after `split`.
  [[nodiscard]] const SegmentView<Words>* views() const { return views_.data(); }
  [[nodiscard]] std::uint32_t segments() const { return static_cast<std::uint32_t>(held_.size()); }
  /// K-mers pending in each list, over all segments; on the device.
  [[nodiscard]] const unsigned long long* list_kmers() const { return list_kmers_.data(); }
  /// Words of all segments, and places for words that were left empty in staging.
  [[nodiscard]] std::uint64_t words() const { return words_; }
  /// Device memory of the segments.
  [[nodiscard]] std::uint64_t segment_bytes() const { return segment_bytes_; }
  /// Device memory a split of `words` words takes.
  [[nodiscard]] std::uint64_t bytes_for(std::uint64_t words) const {
    return words * sizeof(SuperKmer<Words>) + ((std::uint64_t{1} << list_bits_) + 1) * sizeof(std::uint32_t);
  }

 private:
  struct Segment {
    DeviceArray<SuperKmer<Words>> words;
    DeviceArray<std::uint32_t> offsets;
  };

  std::uint32_t list_bits_;
  cudaStream_t stream_;
  std::uint32_t region_capacity_;
  DeviceArray<SuperKmer<Words>> staged_words_;
  DeviceArray<Place> places_;
  DeviceArray<std::uint32_t> sizes_;
  DeviceArray<unsigned long long> lists_;
  DeviceArray<unsigned long long> list_kmers_;
  DeviceArray<SegmentView<Words>> views_;
  DeviceArray<char> scan_scratch_;
  std::vector<Segment> held_;
  std::uint64_t words_ = 0;
  std::uint64_t segment_bytes_ = 0;
};

}  // namespace warpmer::gpu
