#pragma once
/// Pending super-k-mers, in segments on the device that owns them. A bin's pending words are its parts of
/// all segments. Segments for which there is no room are released, and come back in the end.

#include <cstdint>
#include <deque>

#include "kernels/count/segment.cuh"
#include "kernels/memory/device_memory.cuh"

namespace warpmer::gpu {

/// The largest number of parts of segments; more would make counting slow. One GPU's staging is sized so that
/// these suffice. With several GPUs, a round of the exchange takes one for each sender, and pending words are
/// counted early, or spilled, after kMostSegments / GPUs rounds.
inline constexpr std::uint32_t kMostSegments = 64;

template <int Words>
class PendingWords {
 public:
  PendingWords(std::uint32_t bin_bits, cudaStream_t stream);

  /// Takes a segment whose words are complete in the order of the stream, with all of its parts that hold
  /// bins. More parts than kMostSegments in all are an InternalError.
  void add(Segment<Words>&& segment);

  /// Forgets all segments. Waits for the stream.
  void clear();

  /// Gives up the segment that has been here longest; there must be one. Its k-mers are still pending.
  Segment<Words> release_oldest();

  /// Returns the segment that was added last; there must be one.
  [[nodiscard]] const Segment<Words>& newest() const { return held_.back(); }

  /// Returns an array of `segments()` descriptors on the device, valid in the order of the stream.
  [[nodiscard]] const SegmentView<Words>* views() const { return views_.data(); }
  [[nodiscard]] std::uint32_t segments() const { return views_held_; }
  /// Returns, on the device, the number of k-mers pending in each bin, in all segments, released ones too.
  [[nodiscard]] const unsigned long long* bin_kmers() const { return bin_kmers_.data(); }
  /// Returns the number of words in the segments that are here, and of places that were left empty in
  /// staging.
  [[nodiscard]] std::uint64_t words() const { return words_; }
  /// Returns the device memory of the segments that are here.
  [[nodiscard]] std::uint64_t segment_bytes() const { return segment_bytes_; }

 private:
  void add_kmers(const Segment<Words>& segment, const DeviceArray<unsigned long long>& sums);
  void note_views(const Segment<Words>& segment);

  cudaStream_t stream_;
  DeviceArray<unsigned long long> bin_kmers_, released_kmers_;
  DeviceArray<SegmentView<Words>> views_;
  std::uint32_t views_held_ = 0;
  std::deque<Segment<Words>> held_;
  std::uint64_t words_ = 0;
  std::uint64_t segment_bytes_ = 0;
};

}  // namespace warpmer::gpu
