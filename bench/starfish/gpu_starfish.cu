// A GPU, and memory of the host that it copies from and to by itself.

#include <vector>

#include "kernels/live/device_children.cuh"
#include "starfish/bench_body.h"
#include "tables/table_lists.h"
#include "tables/workbench.h"

namespace warpmer::bench {
namespace {

struct Gpu {
  using PagedTable = gpu::PagedPairTable;
  template <class T>
  using Memory = gpu::DeviceArray<T>;
  template <class T>
  using HostMemory = gpu::PinnedArray<T>;
  /// In the default stream, where the plain tables work.
  template <class T>
  static void copy(T* to, const T* from, std::size_t n) {
    gpu::check(cudaMemcpyAsync(to, from, n * sizeof(T), cudaMemcpyDefault, nullptr), "copying");
  }
  static void wait() { gpu::check(cudaDeviceSynchronize(), "waiting for the GPU"); }
  static std::vector<TableEntry> tables() { return gpu_tables(); }
};

}  // namespace

std::unique_ptr<StarfishBench> make_gpu_starfish(const StarfishSetting& setting, int device) {
  const std::string name = make_gpu_workbench(device)->device();  // which is current then
  return std::make_unique<StarfishBenchOn<Gpu>>(setting, name);
}

}  // namespace warpmer::bench
