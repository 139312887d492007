#pragma once
/// Copies values that a test has made to the device, for a kernel.

#include <algorithm>
#include <vector>

#include "kernels/memory/device_memory.cuh"

namespace warpmer::tests {

/// Returns a copy of the values, with room for at least one. It is there in the order of the stream.
template <class T>
gpu::DeviceArray<T> on_device(const std::vector<T>& values, cudaStream_t stream) {
  gpu::DeviceArray<T> device(std::max<std::size_t>(values.size(), 1));
  gpu::copy_to_device(device.data(), values.data(), values.size(), stream);
  return device;
}

}  // namespace warpmer::tests
