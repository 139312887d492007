#include <cub/block/block_scan.cuh>

#include "kernels/tables/multisplit.cuh"

namespace warpmer::gpu::multisplit {

namespace {

constexpr std::uint32_t kScanThreads = 1024;

/// One block: there are no more than a few values for each block that the device holds at once, and part.
__global__ void __launch_bounds__(kScanThreads)
    scan_kernel(Layout layout, std::uint64_t* counts, std::uint64_t* sizes) {
  using Scan = cub::BlockScan<std::uint64_t, kScanThreads>;
  __shared__ typename Scan::TempStorage scratch;
  const std::uint32_t values = layout.parts * layout.blocks;
  const std::uint32_t each = (values + kScanThreads - 1) / kScanThreads;
  const std::uint32_t begin = min(threadIdx.x * each, values), end = min(begin + each, values);
  std::uint64_t sum = 0;
  for (std::uint32_t i = begin; i < end; ++i) sum += counts[i];
  std::uint64_t start = 0;
  Scan(scratch).ExclusiveSum(sum, start);
  for (std::uint32_t i = begin; i < end; ++i) {
    const std::uint64_t count = counts[i];
    counts[i] = start;
    start += count;
  }
  __syncthreads();
  if (threadIdx.x >= layout.parts) return;
  const bool is_last = threadIdx.x + 1 == layout.parts;
  const std::uint64_t next = is_last ? layout.size : counts[(threadIdx.x + 1) * layout.blocks];
  sizes[threadIdx.x] = next - counts[threadIdx.x * layout.blocks];
}

}  // namespace

void scan(const Layout& layout, std::uint64_t* counts, std::uint64_t* sizes, cudaStream_t stream) {
  scan_kernel<<<1, kScanThreads, 0, DriverLock::Shared(stream)>>>(layout, counts, sizes);
  check_launch("planning a split");
}

}  // namespace warpmer::gpu::multisplit
