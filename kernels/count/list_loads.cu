#include <algorithm>

#include "kernels/count/count.cuh"
#include "kernels/count/list_loads.cuh"

namespace warpmer::gpu {

namespace {

constexpr std::uint32_t kLoadThreads = 256;

template <class Key>
CountedView<Key> run_or_none(const WaitingKmers<Key>& kmers) {
  return kmers.run == nullptr ? CountedView<Key>{} : *kmers.run;
}

/// Adds up the lengths of the lists of shards, beginning with list `first`.
template <class Key>
__global__ void shard_loads_kernel(const unsigned long long* list_kmers, CountedView<Key> run, bool has_run,
                                   std::uint32_t first, std::uint32_t lists_per_shard, std::uint32_t shards,
                                   unsigned long long* loads) {
  const std::uint32_t shard = blockIdx.x * blockDim.x + threadIdx.x;
  if (shard >= shards) return;
  unsigned long long sum = 0;
  const std::uint32_t begin = first + shard * lists_per_shard;
  for (std::uint32_t list = begin; list < begin + lists_per_shard; ++list)
    sum += list_length(list_kmers, run, has_run, list);
  loads[shard] = sum;
}

/// Finds the lists from `first` to the one before `end` that are longer than `longest`.
template <class Key>
__global__ void long_lists_kernel(const unsigned long long* list_kmers, CountedView<Key> run, bool has_run,
                                  std::uint32_t first, std::uint32_t end, std::uint64_t longest,
                                  std::uint32_t* found, std::uint32_t* found_size) {
  const std::uint32_t list = first + blockIdx.x * blockDim.x + threadIdx.x;
  if (list < end && list_length(list_kmers, run, has_run, list) > longest)
    found[atomicAdd(found_size, 1u)] = list;
}

}  // namespace

template <class Key>
ListLoads<Key>::ListLoads(std::uint32_t first_list, std::uint32_t end_list, std::uint32_t lists_per_shard,
                          cudaStream_t stream)
    : first_list_(first_list),
      end_list_(end_list),
      lists_per_shard_(lists_per_shard),
      stream_(stream),
      loads_((end_list - first_list) / lists_per_shard),
      found_(end_list - first_list),
      found_size_(1) {}

template <class Key>
std::vector<unsigned long long> ListLoads<Key>::of_shards(const WaitingKmers<Key>& kmers) {
  const auto shards = static_cast<std::uint32_t>(loads_.size());
  shard_loads_kernel<<<(shards + kLoadThreads - 1) / kLoadThreads, kLoadThreads, 0,
                       DriverLock::Shared(stream_)>>>(kmers.list_kmers, run_or_none(kmers),
                                                      kmers.run != nullptr, first_list_, lists_per_shard_,
                                                      shards, loads_.data());
  check_launch("measuring shards");
  std::vector<unsigned long long> loads(shards);
  copy_to_host(loads.data(), loads_.data(), shards, stream_);
  check(cudaStreamSynchronize(stream_), "measuring shards");
  return loads;
}

template <class Key>
void ListLoads<Key>::find_long_lists(const WaitingKmers<Key>& kmers, std::uint32_t first, std::uint32_t end,
                                     std::uint64_t longest) {
  fill_bytes(found_size_.data(), 0, 1, stream_);
  long_lists_kernel<<<(end - first + kLoadThreads - 1) / kLoadThreads, kLoadThreads, 0,
                      DriverLock::Shared(stream_)>>>(kmers.list_kmers, run_or_none(kmers),
                                                     kmers.run != nullptr, first, end, longest, found_.data(),
                                                     found_size_.data());
  check_launch("looking for long lists");
  std::uint32_t size = 0;
  copy_to_host(&size, found_size_.data(), 1, stream_);
  check(cudaStreamSynchronize(stream_), "looking for long lists");
  long_lists_.resize(size);
  copy_to_host(long_lists_.data(), found_.data(), size, stream_);
  check(cudaStreamSynchronize(stream_), "looking for long lists");
  std::sort(long_lists_.begin(), long_lists_.end());
}

template <class Key>
std::vector<std::uint32_t> ListLoads<Key>::long_lists(std::uint32_t first, std::uint32_t end) const {
  return {std::lower_bound(long_lists_.begin(), long_lists_.end(), first),
          std::lower_bound(long_lists_.begin(), long_lists_.end(), end)};
}

template class ListLoads<Key64>;
template class ListLoads<Key128>;

}  // namespace warpmer::gpu
