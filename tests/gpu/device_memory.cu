// Tests which device memory counts as free.

#include <doctest/doctest.h>

#include "gpu/device.h"
#include "kernels/memory/device_memory.cuh"

using namespace warpmer;

TEST_CASE("memory that was given back can be had again") {
  constexpr std::uint64_t kBytes = std::uint64_t{512} << 20, kOthers = std::uint64_t{64} << 20;
  REQUIRE(cudaSetDevice(tests::gpu_under_test().ordinal) == cudaSuccess);
  const std::uint64_t before = gpu::available_bytes();
  {
    const gpu::DeviceArray<char> array(kBytes);
    CHECK(gpu::available_bytes() < before - kBytes + kOthers);
  }
  // The driver does not call it free: the pool keeps it.
  CHECK(gpu::available_bytes() > before - kOthers);
}
