// CUDA's malloc in kernels, which SlabAlloc is compared with (Ashkiani et al. 2018, section V): each lane
// asks for the bytes of a slab. It is in a file of its own, because its heap gets its size before a kernel of
// the file is loaded.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/memory/cuda_error.cuh"
#include "kernels/memory/device_memory.cuh"
#include "table/slab.h"
#include "tables/table_lists.h"

namespace warpmer::bench {
namespace {

constexpr unsigned kThreads = 256;
/// Bytes of the heap for each request; a slab has 128, and the heap needs some for itself.
constexpr std::size_t kHeapBytes = 512;
constexpr std::size_t kLeastHeapBytes = std::size_t{64} << 20;

__global__ void __launch_bounds__(kThreads) malloc_kernel(std::size_t requests, void** addresses) {
  const std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < requests) addresses[i] = ::malloc(table::kSlabBytes);
}
__global__ void __launch_bounds__(kThreads) free_kernel(std::size_t requests, void* const* addresses) {
  const std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < requests) ::free(addresses[i]);
}

class GpuMalloc : public AllocatorUnderTest {
 public:
  explicit GpuMalloc(std::size_t most_requests) : addresses_(most_requests) {
    gpu::check(cudaDeviceSetLimit(cudaLimitMallocHeapSize, heap_bytes()), "making the heap of kernels");
  }

  [[nodiscard]] std::size_t units() const override { return addresses_.size(); }
  [[nodiscard]] std::size_t bytes() const override { return addresses_.size() * table::kSlabBytes; }
  void allocate(std::size_t requests) override {
    requests_ = requests;
    malloc_kernel<<<blocks(), kThreads>>>(requests_, addresses_.data());
    gpu::check_launch("allocating");
    in_use_ = true;
  }
  void free() override {
    free_kernel<<<blocks(), kThreads>>>(requests_, addresses_.data());
    gpu::check_launch("freeing");
    in_use_ = false;
  }
  AllocatorAccount account() override {
    std::vector<void*> addresses(requests_);
    gpu::check(cudaMemcpy(addresses.data(), addresses_.data(), requests_ * sizeof(void*), cudaMemcpyDefault),
               "looking at addresses");
    return account_of_addresses(std::move(addresses), in_use_);
  }

 private:
  [[nodiscard]] std::size_t heap_bytes() const {
    return std::max(kLeastHeapBytes, addresses_.size() * kHeapBytes);
  }
  [[nodiscard]] unsigned blocks() const {
    return static_cast<unsigned>((requests_ + kThreads - 1) / kThreads);
  }

  gpu::DeviceArray<void*> addresses_;
  std::size_t requests_ = 0;
  bool in_use_ = false;
};

constexpr AllocatorEntry kMalloc[] = {
    {"malloc", 1, [](std::size_t most) -> std::unique_ptr<AllocatorUnderTest> {
       return std::make_unique<GpuMalloc>(most);
     }}};

}  // namespace

const AllocatorList kGpuMalloc = kMalloc;

}  // namespace warpmer::bench
