// Tests which device memory counts as free, and what is said where there is none.

#include <doctest/doctest.h>

#include "base/error.h"
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

TEST_CASE("an error of the GPU is not found again by the launch that follows") {
  REQUIRE(cudaSetDevice(tests::gpu_under_test().ordinal) == cudaSuccess);
  CHECK_THROWS_AS(gpu::DeviceArray<char>(std::size_t{1} << 50), ResourceError);
  CHECK_NOTHROW(gpu::check_launch("launching nothing"));
}

TEST_CASE("where host memory cannot be pinned, the GPU is not blamed") {
  REQUIRE(cudaSetDevice(tests::gpu_under_test().ordinal) == cudaSuccess);
  CHECK_THROWS_WITH_AS(gpu::PinnedArray<char>(std::size_t{1} << 50),
                       doctest::Contains("MiB of host memory left that a GPU can copy from"), ResourceError);
  CHECK_NOTHROW(gpu::check_launch("launching nothing"));
}
