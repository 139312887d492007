#include <cuda_runtime.h>

#include <string>

#include "base/error.h"
#include "kernels/memory/cuda_error.cuh"
#include "kernels/memory/current_device.cuh"
#include "kernels/memory/driver_lock.cuh"
#include "kernels/memory/key_width.cuh"
#include "kmer/kmer.h"

namespace warpmer::gpu {

namespace {

/// Is compiled for the same devices as all kernels.
__global__ void any_kernel() {}

/// Returns the compute capability, times 10, for which the code was compiled that a GPU runs: a newer one
/// runs code for older ones, too.
int code_version(int gpu) {
  const CurrentDevice current(gpu);
  const DriverLock::Shared use;
  cudaFuncAttributes code{};
  check(cudaFuncGetAttributes(&code, any_kernel), "asking for the code that it runs");
  return code.ptxVersion;
}

std::string version_of(int major, int minor) { return std::to_string(major) + "." + std::to_string(minor); }

}  // namespace

void check_key_width(std::uint32_t k, int gpu) {
  if (k <= kMaxNarrowK) return;
  const std::string what = "k = " + std::to_string(k) + " needs ";
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, gpu), "asking for the GPU");
  if (properties.major < 9) {
    throw ResourceError(what + "a GPU of compute capability 9.0, and cuda:" + std::to_string(gpu) + " (" +
                        properties.name + ") has " + version_of(properties.major, properties.minor) +
                        "; use --device cpu");
  }
  const int version = code_version(gpu);
  if (version >= 90) return;
  throw ResourceError(what + "code for compute capability 9.0, and this warpmer was built for " +
                      version_of(version / 10, version % 10) +
                      "; build it with -DCMAKE_CUDA_ARCHITECTURES=90, or use --device cpu");
}

}  // namespace warpmer::gpu
