#pragma once
/// Turns CUDA's return codes into typed errors.

#include <cuda_runtime.h>

#include <string>

#include "base/error.h"

namespace warpmer::gpu {

/// Throws unless `status` is success: a ResourceError when the device has no memory left, or is gone, else an
/// InternalError. `doing` completes "while ...".
inline void check(cudaError_t status, const char* doing) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // or the next launch would seem to have failed
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
    case cudaErrorNotSupported:
      throw ResourceError(what + "; use --device cpu, or another GPU");
    default:
      throw InternalError(what);
  }
}

/// Checks a kernel launch that was just made.
inline void check_launch(const char* kernel) { check(cudaGetLastError(), kernel); }

}  // namespace warpmer::gpu
