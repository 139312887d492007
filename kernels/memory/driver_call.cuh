#pragma once
/// Calls of the CUDA driver that the runtime has not.

#include <cuda_runtime.h>

namespace warpmer::gpu {

/// Finds a call of the driver, of the version of its type; null when there is none. The driver's library is
/// not linked, so that there need not be one.
template <class Call>
cudaError_t find_call(const char* name, unsigned version, Call& call) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &found);
  const bool is_there = status == cudaSuccess && found == cudaDriverEntryPointSuccess;
  call = is_there ? reinterpret_cast<Call>(function) : nullptr;
  return status;
}

}  // namespace warpmer::gpu
