#include <cudaTypedefs.h>

#include "base/error.h"
#include "kernels/memory/host_fence.cuh"

namespace warpmer::gpu {

namespace {

/// The runtime has no such call, and the driver's library is not linked, so that there need not be one.
PFN_cuStreamWriteValue64_v11070 find_write_value() {
  constexpr unsigned kVersion = 11070;  // that of the type
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  check(cudaGetDriverEntryPointByVersion("cuStreamWriteValue64", &function, kVersion, cudaEnableDefault,
                                         &found),
        "looking for a call of the driver");
  if (found != cudaDriverEntryPointSuccess)
    throw ResourceError("the CUDA driver is too old for warpmer; update it, or use --device cpu");
  return reinterpret_cast<PFN_cuStreamWriteValue64_v11070>(function);
}

}  // namespace

void HostFence::write_when_reached(cudaStream_t stream) {
  static const PFN_cuStreamWriteValue64_v11070 write_value = find_write_value();
  const auto at = reinterpret_cast<CUdeviceptr>(number_.data());
  const CUresult result =
      write_value(DriverLock::Shared(stream), at, last_ + 1, CU_STREAM_WRITE_VALUE_DEFAULT);
  check(static_cast<cudaError_t>(result), "marking a stream");  // the runtime's numbers are the driver's
  ++last_;
}

/// The device has not got there in a while.
void HostFence::look_for_errors() const {
  const cudaError_t state = cudaStreamQuery(stream_);
  if (state == cudaErrorNotReady) {
    cudaGetLastError();  // or the next launch would seem to have failed
    return;
  }
  check(state, "waiting for the GPU");
  if (!has_passed()) throw InternalError("a GPU has not marked a stream that has come to its end");
}

}  // namespace warpmer::gpu
