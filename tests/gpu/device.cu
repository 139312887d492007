// Finds the GPU that is tested.
#include <cuda_runtime.h>

#include "gpu/device.h"

namespace warpmer::tests {

// In no unnamed namespace: nvcc does not tell one from that of a test that is compiled along with this.
static host::Gpu chosen;

std::string choose_gpu() {
  const host::GpuSurvey survey = host::survey_gpus();
  std::string problem = survey.problem;
  for (const host::Gpu& gpu : survey.gpus) {
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

const host::Gpu& gpu_under_test() { return chosen; }

}  // namespace warpmer::tests
