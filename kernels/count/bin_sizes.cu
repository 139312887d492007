#include <algorithm>

#include "kernels/count/bin_sizes.cuh"
#include "kernels/count/count.cuh"
#include "kernels/memory/persistent_grid.cuh"

namespace warpmer::gpu {

namespace {

constexpr std::uint32_t kLoadThreads = 256;

template <class Key>
CountedView<Key> run_or_none(const WaitingKmers<Key>& kmers) {
  return kmers.run == nullptr ? CountedView<Key>{} : *kmers.run;
}

/// Adds up the lengths of the bins of shards, beginning with bin `first`.
template <class Key>
__global__ void shard_loads_kernel(const unsigned long long* bin_kmers, CountedView<Key> run, bool has_run,
                                   std::uint32_t first, std::uint32_t bins_per_shard, std::uint32_t shards,
                                   unsigned long long* loads) {
  const std::uint32_t shard = blockIdx.x * blockDim.x + threadIdx.x;
  if (shard >= shards) return;
  unsigned long long sum = 0;
  const std::uint32_t begin = first + shard * bins_per_shard;
  for (std::uint32_t bin = begin; bin < begin + bins_per_shard; ++bin)
    sum += bin_length(bin_kmers, run, has_run, bin);
  loads[shard] = sum;
}

/// Finds the bins from `first` to the one before `end` that are longer than `longest`.
template <class Key>
__global__ void long_bins_kernel(const unsigned long long* bin_kmers, CountedView<Key> run, bool has_run,
                                 std::uint32_t first, std::uint32_t end, std::uint64_t longest,
                                 std::uint32_t* found, std::uint32_t* found_size) {
  const std::uint32_t bin = first + blockIdx.x * blockDim.x + threadIdx.x;
  if (bin < end && bin_length(bin_kmers, run, has_run, bin) > longest) found[atomicAdd(found_size, 1u)] = bin;
}

}  // namespace

template <class Key>
BinSizes<Key>::BinSizes(std::uint32_t first_bin, std::uint32_t end_bin, std::uint32_t bins_per_shard,
                        cudaStream_t stream)
    : first_bin_(first_bin),
      bins_per_shard_(bins_per_shard),
      stream_(stream),
      loads_((end_bin - first_bin) / bins_per_shard),
      found_(end_bin - first_bin),
      found_size_(1) {}

template <class Key>
std::vector<unsigned long long> BinSizes<Key>::of_shards(const WaitingKmers<Key>& kmers) {
  const auto shards = static_cast<std::uint32_t>(loads_.size());
  shard_loads_kernel<<<blocks_of(shards, kLoadThreads), kLoadThreads, 0, DriverLock::Shared(stream_)>>>(
      kmers.bin_kmers, run_or_none(kmers), kmers.run != nullptr, first_bin_, bins_per_shard_, shards,
      loads_.data());
  check_launch("measuring shards");
  std::vector<unsigned long long> loads(shards);
  copy_to_host(loads.data(), loads_.data(), shards, stream_);
  check(cudaStreamSynchronize(stream_), "measuring shards");
  return loads;
}

template <class Key>
void BinSizes<Key>::find_long_bins(const WaitingKmers<Key>& kmers, std::uint32_t first, std::uint32_t end,
                                   std::uint64_t longest) {
  fill_bytes(found_size_.data(), 0, 1, stream_);
  long_bins_kernel<<<blocks_of(end - first, kLoadThreads), kLoadThreads, 0, DriverLock::Shared(stream_)>>>(
      kmers.bin_kmers, run_or_none(kmers), kmers.run != nullptr, first, end, longest, found_.data(),
      found_size_.data());
  check_launch("looking for long bins");
  std::uint32_t size = 0;
  copy_to_host(&size, found_size_.data(), 1, stream_);
  check(cudaStreamSynchronize(stream_), "looking for long bins");
  long_bins_.resize(size);
  copy_to_host(long_bins_.data(), found_.data(), size, stream_);
  check(cudaStreamSynchronize(stream_), "looking for long bins");
  std::sort(long_bins_.begin(), long_bins_.end());
}

template <class Key>
std::vector<std::uint32_t> BinSizes<Key>::long_bins(std::uint32_t first, std::uint32_t end) const {
  return {std::lower_bound(long_bins_.begin(), long_bins_.end(), first),
          std::lower_bound(long_bins_.begin(), long_bins_.end(), end)};
}

template class BinSizes<Key64>;
template class BinSizes<Key128>;

}  // namespace warpmer::gpu
