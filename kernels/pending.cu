#include "core/error.h"
#include "pending.cuh"

namespace warpmer::gpu {

namespace {

constexpr std::uint32_t kPendingThreads = 256;

/// Adds up the k-mers of a segment's parts.
__global__ void add_kmers_kernel(const std::uint32_t* kmers, std::uint32_t parts, std::uint32_t lists,
                                 unsigned long long* sums) {
  const std::uint32_t list = blockIdx.x * blockDim.x + threadIdx.x;
  if (list >= lists) return;
  unsigned long long sum = 0;
  for (std::uint32_t part = 0; part < parts; ++part) sum += kmers[std::size_t{part} * lists + list];
  sums[list] += sum;
}

}  // namespace

template <int Words>
PendingWords<Words>::PendingWords(std::uint32_t list_bits, cudaStream_t stream)
    : stream_(stream), list_kmers_(std::size_t{1} << list_bits), views_(kMostSegments) {
  fill_bytes(list_kmers_.data(), 0, list_kmers_.size(), stream);
}

template <int Words>
void PendingWords<Words>::add(Segment<Words>&& segment) {
  const auto parts = static_cast<std::uint32_t>(segment.parts.size());
  if (parts == 0) return;
  if (views_held_ + parts > kMostSegments) throw InternalError("more segments of pending words than planned");
  add_kmers_kernel<<<(segment.lists + kPendingThreads - 1) / kPendingThreads, kPendingThreads, 0, stream_>>>(
      segment.kmers.data(), parts, segment.lists, list_kmers_.data() + segment.first_list);
  check_launch("adding up super-k-mers");
  std::vector<SegmentView<Words>> views(parts);
  for (std::uint32_t part = 0; part < parts; ++part) views[part] = segment.view(part);
  copy_to_device(views_.data() + views_held_, views.data(), parts, stream_);
  views_held_ += parts;
  words_ += segment.words.size();
  segment_bytes_ += segment.bytes();
  held_.push_back(std::move(segment));
}

template <int Words>
void PendingWords<Words>::clear() {
  check(cudaStreamSynchronize(stream_), "counting");
  held_.clear();
  views_held_ = 0;
  words_ = 0;
  segment_bytes_ = 0;
  fill_bytes(list_kmers_.data(), 0, list_kmers_.size(), stream_);
}

template class PendingWords<2>;
template class PendingWords<4>;

}  // namespace warpmer::gpu
