#include <cudaTypedefs.h>

#include "base/error.h"
#include "kernels/memory/driver_call.cuh"
#include "kernels/memory/host_fence.cuh"

namespace warpmer::gpu {

namespace {

PFN_cuStreamWriteValue64_v11070 find_write_value() {
  PFN_cuStreamWriteValue64_v11070 call = nullptr;
  check(find_call("cuStreamWriteValue64", 11070, call), "looking for a call of the driver");
  if (call == nullptr)
    throw ResourceError("the CUDA driver is too old for warpmer; update it, or use --device cpu");
  return call;
}

}  // namespace

bool has_host_fences(int ordinal) {
  PFN_cuDeviceGet_v2000 get_device = nullptr;
  PFN_cuDeviceGetAttribute_v2000 get_attribute = nullptr;
  find_call("cuDeviceGet", 2000, get_device);
  find_call("cuDeviceGetAttribute", 2000, get_attribute);
  cudaGetLastError();  // or the next launch would seem to have failed
  CUdevice device = 0;
  int can_write = 0;
  const bool is_known =
      get_device != nullptr && get_attribute != nullptr && get_device(&device, ordinal) == CUDA_SUCCESS &&
      get_attribute(&can_write, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, device) == CUDA_SUCCESS;
  return !is_known || can_write != 0;
}

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
