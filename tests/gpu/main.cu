// The one main of the GPU tests. Without a GPU that warpmer can use all of them are skipped.
#define DOCTEST_CONFIG_IMPLEMENT
#include <cuda_runtime.h>
#include <doctest/doctest.h>

#include <cstdio>

#include "gpu/device.h"

namespace {

warpmer::engine::Gpu chosen;

/// Why there is none, or nothing.
std::string choose_gpu() {
  const warpmer::engine::GpuSurvey survey = warpmer::engine::survey_gpus();
  std::string problem = survey.problem;
  for (const warpmer::engine::Gpu& gpu : survey.gpus) {
    if (!gpu.problem.empty()) {
      problem = "cuda:" + std::to_string(gpu.ordinal) + ": " + gpu.problem;
      continue;
    }
    chosen = gpu;
    const cudaError_t status = cudaSetDevice(gpu.ordinal);
    return status == cudaSuccess ? "" : cudaGetErrorString(status);
  }
  return problem.empty() ? "no GPU" : problem;
}

}  // namespace

const warpmer::engine::Gpu& warpmer::tests::gpu_under_test() { return chosen; }

int main(int argc, char** argv) {
  if (const std::string problem = choose_gpu(); !problem.empty()) {
    std::printf("skipped: %s\n", problem.c_str());
    return 77;
  }
  std::printf("on cuda:%d (%s)\n", chosen.ordinal, chosen.name.c_str());
  return doctest::Context(argc, argv).run();
}
