// Tests which device memory counts as free, and what is said where there is none.

#include <doctest/doctest.h>

#include <vector>

#include "base/error.h"
#include "gpu/device.h"
#include "kernels/exchange/peers.cuh"
#include "kernels/memory/current_device.cuh"
#include "kernels/memory/device_memory.cuh"
#include "kernels/memory/held_memory.cuh"

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

TEST_CASE("memory that a job has given back is free for others when the job is over") {
  constexpr std::uint64_t kBytes = std::uint64_t{512} << 20, kOthers = std::uint64_t{64} << 20;
  const int ordinal = tests::gpu_under_test().ordinal;
  REQUIRE(cudaSetDevice(ordinal) == cudaSuccess);
  gpu::give_back_unused(ordinal);
  std::size_t before = 0, during = 0, after = 0, total = 0;
  REQUIRE(cudaMemGetInfo(&before, &total) == cudaSuccess);
  {
    const gpu::Peers job({ordinal});
    gpu::DeviceArray<char>(kBytes).reset();
    REQUIRE(cudaMemGetInfo(&during, &total) == cudaSuccess);
  }
  REQUIRE(cudaMemGetInfo(&after, &total) == cudaSuccess);
  CHECK(during < before - kBytes + kOthers);  // the job's next array would have it at once
  CHECK(after > before - kOthers);
}

TEST_CASE("a look at all GPUs takes nothing of them, and leaves the current one current") {
  const int ordinal = tests::gpu_under_test().ordinal;
  REQUIRE(cudaSetDevice(ordinal) == cudaSuccess);
  const auto with_context = [] {
    std::vector<int> gpus;
    for (const int gpu : tests::all_gpus()) {
      if (gpu::has_context(gpu)) gpus.push_back(gpu);
    }
    return gpus;
  };
  const std::vector<int> before = with_context();
  host::GpuSurvey survey = host::survey_gpus();
  CHECK(with_context() == before);
  for (const host::Gpu& gpu : survey.gpus) CHECK(gpu.free_bytes == 0);
  // What is asked for is measured, and nothing else.
  const int last = survey.gpus.back().ordinal;
  host::measure_gpus(survey, {last});
  for (const host::Gpu& gpu : survey.gpus) {
    if (gpu.problem.empty()) CHECK((gpu.free_bytes > 0) == (gpu.ordinal == last));
  }
  CHECK(gpu::current_gpu() == ordinal);
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
