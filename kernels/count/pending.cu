#include <utility>
#include <vector>

#include "base/error.h"
#include "kernels/count/pending.cuh"
#include "kernels/memory/persistent_grid.cuh"

namespace warpmer::gpu {

namespace {

constexpr std::uint32_t kPendingThreads = 256;

/// Adds up the k-mers of a segment's parts.
__global__ void add_kmers_kernel(const std::uint32_t* kmers, std::uint32_t parts, std::uint32_t bins,
                                 unsigned long long* sums) {
  const std::uint32_t bin = blockIdx.x * blockDim.x + threadIdx.x;
  if (bin >= bins) return;
  unsigned long long sum = 0;
  for (std::uint32_t part = 0; part < parts; ++part) sum += kmers[std::size_t{part} * bins + bin];
  sums[bin] += sum;
}

}  // namespace

template <int Words>
PendingWords<Words>::PendingWords(std::uint32_t bin_bits, cudaStream_t stream)
    : stream_(stream),
      bin_kmers_(std::size_t{1} << bin_bits),
      released_kmers_(std::size_t{1} << bin_bits),
      views_(kMostSegments) {
  fill_bytes(bin_kmers_.data(), 0, bin_kmers_.size(), stream);
  fill_bytes(released_kmers_.data(), 0, released_kmers_.size(), stream);
}

template <int Words>
void PendingWords<Words>::add(Segment<Words>&& segment) {
  const auto parts = static_cast<std::uint32_t>(segment.parts.size());
  if (parts == 0) return;
  if (views_held_ + parts > kMostSegments) throw InternalError("more segments of pending words than planned");
  add_kmers(segment, bin_kmers_);
  note_views(segment);
  words_ += segment.words.size();
  segment_bytes_ += segment.bytes();
  held_.push_back(std::move(segment));
}

template <int Words>
void PendingWords<Words>::add_kmers(const Segment<Words>& segment,
                                    const DeviceArray<unsigned long long>& sums) {
  add_kmers_kernel<<<blocks_of(segment.bins, kPendingThreads), kPendingThreads, 0,
                     DriverLock::Shared(stream_)>>>(segment.kmers.data(),
                                                    static_cast<std::uint32_t>(segment.parts.size()),
                                                    segment.bins, sums.data() + segment.first_bin);
  check_launch("adding up super-k-mers");
}

template <int Words>
void PendingWords<Words>::note_views(const Segment<Words>& segment) {
  std::vector<SegmentView<Words>> views(segment.parts.size());
  for (std::size_t part = 0; part < views.size(); ++part) views[part] = segment.view(part);
  copy_to_device(views_.data() + views_held_, views.data(), views.size(), stream_);
  views_held_ += static_cast<std::uint32_t>(views.size());
}

template <int Words>
void PendingWords<Words>::clear() {
  check(cudaStreamSynchronize(stream_), "counting");
  held_.clear();
  views_held_ = 0;
  words_ = 0;
  segment_bytes_ = 0;
  copy_anywhere(bin_kmers_.data(), released_kmers_.data(), bin_kmers_.size(), stream_, "copying on the GPU");
}

template <int Words>
Segment<Words> PendingWords<Words>::release_oldest() {
  Segment<Words> oldest = std::move(held_.front());
  held_.pop_front();
  words_ -= oldest.words.size();
  segment_bytes_ -= oldest.bytes();
  add_kmers(oldest, released_kmers_);
  views_held_ = 0;
  for (const Segment<Words>& segment : held_) note_views(segment);
  return oldest;
}

template class PendingWords<2>;
template class PendingWords<4>;

}  // namespace warpmer::gpu
