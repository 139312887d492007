#include <algorithm>

#include "kernels/freeze/count_tally.cuh"
#include "kernels/memory/persistent_grid.cuh"
#include "kernels/memory/small_copy.cuh"

namespace warpmer::gpu {

namespace {

constexpr std::uint32_t kTallyThreads = 256;
/// Counts below this are added up in a block's memory first.
constexpr std::uint32_t kSmallCounts = 512;

template <class Key>
__global__ __launch_bounds__(kTallyThreads) void tally_counts(const __grid_constant__ OrderedKmers<Key> kmers,
                                                              std::uint32_t begin, std::uint32_t end,
                                                              unsigned long long* tallies,
                                                              std::uint64_t* large, std::uint32_t* size) {
  __shared__ std::uint32_t small[kSmallCounts];
  for (std::uint32_t count = threadIdx.x; count < kSmallCounts; count += kTallyThreads) small[count] = 0;
  __syncthreads();
  for (std::uint32_t i = begin + blockIdx.x * kTallyThreads + threadIdx.x; i < end;
       i += gridDim.x * kTallyThreads) {
    const std::uint32_t stored = kmers.counts[i];
    if (stored >= CountHistogram::kTallies) {
      const std::uint32_t at = atomicAdd(size, 1u);
      if (at < CountTally<Key>::kMostAtOnce) large[at] = kmers.count(i);
    } else if (tallies != nullptr && stored < kSmallCounts) {
      atomicAdd(small + stored, 1u);
    } else if (tallies != nullptr) {
      atomicAdd(tallies + stored, 1ull);
    }
  }
  __syncthreads();
  for (std::uint32_t count = threadIdx.x; count < kSmallCounts; count += kTallyThreads) {
    if (small[count] > 0) atomicAdd(tallies + count, static_cast<unsigned long long>(small[count]));
  }
}

}  // namespace

/// Returns the number of large counts. Those that there is room for are in the list.
template <class Key>
std::uint32_t CountTally<Key>::note_range(const OrderedKmers<Key>& kmers, std::uint32_t begin,
                                          std::uint32_t end, unsigned long long* tallies,
                                          cudaStream_t stream) {
  fill_bytes(size_.data(), 0, 1, stream);
  tally_counts<Key>
      <<<blocks_for<tally_counts<Key>>(end - begin, kTallyThreads, kTallyThreads), kTallyThreads, 0,
         DriverLock::Shared(stream)>>>(kmers, begin, end, tallies, large_.data(), size_.data());
  check_launch("noting counts");
  copy_small(host_size_.data(), size_.data(), 1, stream);
  check(cudaStreamSynchronize(stream), "noting counts");
  return host_size_[0];
}

template <class Key>
void CountTally<Key>::take_large(std::uint32_t n, backend::Tally& large, cudaStream_t stream) {
  std::vector<std::uint64_t> counts(n);
  copy_to_host(counts.data(), large_.data(), n, stream);
  check(cudaStreamSynchronize(stream), "reading large counts");
  for (const std::uint64_t count : counts) large.note(count, 1);
}

template <class Key>
void CountTally<Key>::note(const OrderedKmers<Key>& kmers, unsigned long long* tallies, backend::Tally& large,
                           cudaStream_t stream) {
  if (kmers.size == 0) return;
  const std::uint32_t n = note_range(kmers, 0, kmers.size, tallies, stream);
  if (n == 0) return;
  if (n <= kMostAtOnce) return take_large(n, large, stream);
  // There is room for those of a range.
  for (std::uint32_t begin = 0; begin < kmers.size; begin += std::min(kMostAtOnce, kmers.size - begin)) {
    const std::uint32_t end = begin + std::min(kMostAtOnce, kmers.size - begin);
    take_large(note_range(kmers, begin, end, nullptr, stream), large, stream);
  }
}

template class CountTally<Key64>;
template class CountTally<Key128>;

}  // namespace warpmer::gpu
