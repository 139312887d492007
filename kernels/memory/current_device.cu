#include <cudaTypedefs.h>

#include "kernels/memory/current_device.cuh"
#include "kernels/memory/driver_call.cuh"

namespace warpmer::gpu {

namespace {

struct ContextCalls {
  PFN_cuDeviceGet_v2000 get_device = nullptr;
  PFN_cuDevicePrimaryCtxGetState_v7000 get_state = nullptr;
};

ContextCalls find_context_calls() noexcept {
  ContextCalls calls;
  find_call("cuDeviceGet", 2000, calls.get_device);
  find_call("cuDevicePrimaryCtxGetState", 7000, calls.get_state);
  cudaGetLastError();  // or the next launch would seem to have failed
  return calls;
}

}  // namespace

bool has_context(int ordinal) noexcept {
  static const ContextCalls calls = find_context_calls();
  if (calls.get_device == nullptr || calls.get_state == nullptr) return true;
  CUdevice device = 0;
  unsigned flags = 0;
  int is_active = 0;
  const bool is_known = calls.get_device(&device, ordinal) == CUDA_SUCCESS &&
                        calls.get_state(device, &flags, &is_active) == CUDA_SUCCESS;
  return !is_known || is_active != 0;
}

void make_current_again(int ordinal) noexcept {
  if (has_context(ordinal)) cudaSetDevice(ordinal);
}

}  // namespace warpmer::gpu
