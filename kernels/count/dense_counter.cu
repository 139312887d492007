#include "kernels/count/dense_counter.cuh"
#include "kernels/text/text_tile.cuh"

namespace warpmer::gpu {

namespace {

__global__ __launch_bounds__(kTileThreads) void count_dense_kernel(const char* text, std::uint32_t bytes,
                                                                   std::uint32_t k,
                                                                   unsigned long long* counts,
                                                                   CutStatus* status) {
  __shared__ TextTile tile;
  __shared__ std::uint32_t kmers;
  if (threadIdx.x == 0) kmers = 0;
  pack_tile(tile, text, blockIdx.x * kTileStarts, bytes, status);
  __syncthreads();
  const std::uint32_t first = threadIdx.x * kStartsPerThread, mask = (1u << (2 * k)) - 1;
  const std::uint32_t valid = valid_starts(tile, first, k);
  // Equal neighbours are added at once, so that no lane waits for others at a poly-A's counter.
  std::uint32_t before = 0, n = 0;
  for (std::uint32_t j = 0; j < kStartsPerThread; ++j) {
    if (((valid >> j) & 1) == 0) continue;
    const std::uint32_t bases = groups::sixteen_bases(tile.packed, first + j) & mask;
    if (n > 0 && bases != before) {
      atomicAdd(counts + (reverse_pairs(before) >> (64 - 2 * k)), static_cast<unsigned long long>(n));
      n = 0;
    }
    before = bases;
    ++n;
  }
  if (n > 0) atomicAdd(counts + (reverse_pairs(before) >> (64 - 2 * k)), static_cast<unsigned long long>(n));
  const std::uint32_t sum = __reduce_add_sync(~0u, __popc(valid));
  if (threadIdx.x % 32 == 0) atomicAdd(&kmers, sum);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(&status->kmers, static_cast<unsigned long long>(kmers));
}

}  // namespace

DenseCounter::DenseCounter(std::uint32_t k) : k_(k), counts_(std::size_t{1} << (2 * k)) {
  fill_bytes(counts_.data(), 0, counts_.size(), stream_);
}

void DenseCounter::add(const char* text, std::uint32_t bytes, const std::uint32_t* /*tiles*/,
                       std::uint32_t tile_count, std::uint32_t* /*left*/, CutStatus* status) {
  count_dense_kernel<<<tile_count, kTileThreads, 0, DriverLock::Shared(stream_)>>>(text, bytes, k_,
                                                                                   counts_.data(), status);
  check_launch("counting");
}

std::vector<std::uint64_t> DenseCounter::counts() const {
  std::vector<std::uint64_t> counts(counts_.size());
  check(cudaMemcpyAsync(counts.data(), counts_.data(), counts_.bytes(), cudaMemcpyDeviceToHost,
                        DriverLock::Shared(stream_)),
        "counting");
  stream_.wait();
  return counts;
}

}  // namespace warpmer::gpu
