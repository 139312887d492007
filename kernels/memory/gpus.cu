#include <cuda_runtime.h>

#include "base/error.h"
#include "base/thread_without_signals.h"
#include "host/gpus.h"
#include "kernels/memory/host_fence.cuh"

namespace warpmer::host {

namespace {

std::string version_name(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string words_of(cudaError_t status) {
  return std::string("the driver says \"") + cudaGetErrorString(status) + "\"";
}

/// Returns the link by which a GPU reaches the memory of another.
GpuLink link_between(int from, int to) {
  int reaches = 0, atomics = 0;
  if (cudaDeviceGetP2PAttribute(&reaches, cudaDevP2PAttrAccessSupported, from, to) != cudaSuccess ||
      reaches == 0)
    return GpuLink::none;
  // NVLink carries atomic operations, PCIe does not.
  cudaDeviceGetP2PAttribute(&atomics, cudaDevP2PAttrNativeAtomicSupported, from, to);
  return atomics != 0 ? GpuLink::nvlink : GpuLink::pcie;
}

/// Returns what the driver cannot do with a GPU (some virtual ones, or under WSL), or null.
const char* missing_feature(int ordinal) {
  int has_pools = 0;
  if (cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, ordinal) == cudaSuccess &&
      has_pools == 0)
    return "pools of memory";
  return gpu::has_host_fences(ordinal) ? nullptr : "marks of 64 bits in streams";
}

Gpu describe(int ordinal, int count) {
  Gpu gpu;
  gpu.ordinal = ordinal;
  cudaDeviceProp properties{};
  const cudaError_t status = cudaGetDeviceProperties(&properties, ordinal);
  if (status == cudaSuccess) {
    gpu.name = properties.name;
    gpu.major = properties.major;
    gpu.minor = properties.minor;
    gpu.multiprocessors = properties.multiProcessorCount;
    gpu.memory_bytes = properties.totalGlobalMem;
    char address[32] = {};
    if (cudaDeviceGetPCIBusId(address, sizeof address, ordinal) == cudaSuccess) gpu.pci_address = address;
    for (int other = 0; other < count; ++other)
      gpu.links.push_back(other == ordinal ? GpuLink::none : link_between(ordinal, other));
    if (gpu.major < 8) {
      gpu.problem = "compute capability " + std::to_string(gpu.major) + "." + std::to_string(gpu.minor) +
                    " is below 8.0, the least that warpmer supports";
      return gpu;
    }
    if (const char* const feature = missing_feature(ordinal); feature != nullptr) {
      gpu.problem = std::string("its driver has no ") + feature + " for it, which warpmer needs";
      return gpu;
    }
  } else {
    gpu.problem = words_of(status);
  }
  cudaGetLastError();
  return gpu;
}

/// Works in a thread of its own, so that the caller's device stays current.
void measure(Gpu& gpu) noexcept {
  try {
    start_thread_without_signals(
        [&gpu] {
          std::size_t free = 0, total = 0;
          cudaError_t status = cudaSetDevice(gpu.ordinal);
          if (status == cudaSuccess) status = cudaMemGetInfo(&free, &total);
          gpu.free_bytes = free;
          if (status != cudaSuccess) gpu.problem = words_of(status);
        },
        "that asks a GPU for its free memory")
        .join();
  } catch (const ResourceError& error) {
    gpu.problem = error.what();
  }
}

}  // namespace

GpuSurvey survey_gpus() {
  GpuSurvey survey;
  survey.measure = measure;
  int version = 0, count = 0;
  if (cudaDriverGetVersion(&version) == cudaSuccess && version > 0) survey.driver = version_name(version);
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (survey.driver.empty()) {
    survey.problem = "this machine has no CUDA driver";
  } else if (status == cudaErrorInsufficientDriver) {
    survey.problem = "the driver supports CUDA " + survey.driver + ", and warpmer needs " +
                     version_name(CUDART_VERSION) + "; update the driver";
  } else if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0)) {
    survey.problem = "the driver sees no GPU (is CUDA_VISIBLE_DEVICES empty?)";
  } else if (status != cudaSuccess) {
    survey.problem = words_of(status);
  } else {
    for (int i = 0; i < count; ++i) survey.gpus.push_back(describe(i, count));
  }
  cudaGetLastError();
  return survey;
}

}  // namespace warpmer::host
