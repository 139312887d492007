#pragma once
/// CUDA's return codes as typed errors.

#include <cuda_runtime.h>

#include <string>

#include "base/error.h"

namespace warpmer::gpu {

/// Throws unless `status` is success: ResourceError when the device has no memory left, or is gone,
/// InternalError otherwise. `doing` completes "while ...".
inline void check(cudaError_t status, const char* doing) {
  if (status == cudaSuccess) return;
  const std::string what =
      std::string("the GPU reports \"") + cudaGetErrorString(status) + "\" while " + doing;
  switch (status) {
    case cudaErrorMemoryAllocation:
      throw ResourceError("the GPU's memory does not suffice for " + std::string(doing) +
                          "; free some, choose another GPU, or use --device cpu");
    case cudaErrorDevicesUnavailable:
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorNoKernelImageForDevice:
      throw ResourceError(what + "; use --device cpu, or another GPU");
    default:
      throw InternalError(what);
  }
}

/// After a kernel launch.
inline void check_launch(const char* kernel) { check(cudaGetLastError(), kernel); }

}  // namespace warpmer::gpu
