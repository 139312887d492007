#pragma once
/// The GPUs of this machine, as the CUDA driver sees them.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace warpmer::host {

/// The way from one GPU to the memory of another.
enum class GpuLink {
  none,  ///< through the host's memory
  pcie,
  nvlink,
};

struct Gpu {
  int ordinal = 0;  ///< the N of `cuda:N`; counts what CUDA_VISIBLE_DEVICES leaves
  std::string name;
  int major = 0, minor = 0;  ///< compute capability
  int multiprocessors = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t free_bytes = 0;  ///< as far as it was measured
  std::string pci_address;
  std::vector<GpuLink> links;  ///< links to each GPU, by ordinal; what stands at its own place means nothing
  std::string problem;         ///< why warpmer cannot use it (too old, occupied); empty when it can
};

struct GpuSurvey {
  std::vector<Gpu> gpus;
  std::string driver;  ///< CUDA version the driver supports, e.g. "13.0"; empty when there is no driver
  std::string
      problem;  ///< why there is none, in one sentence ("this warpmer was built without CUDA"); else empty
  /// Finds a GPU's free memory, or the problem. That makes a CUDA context there, which takes some hundred MB
  /// of the GPU until the process ends. Never throws. Null: all is known.
  void (*measure)(Gpu& gpu) = nullptr;
};

/// Looks at all GPUs, but takes nothing of them: their free memory is still to be measured. Never throws;
/// starting the driver takes some tenths of a second.
GpuSurvey survey_gpus();

/// Measures the free memory of the GPUs with these ordinals, but for those that cannot be used.
inline void measure_gpus(GpuSurvey& survey, const std::vector<int>& ordinals) {
  if (survey.measure == nullptr) return;
  for (Gpu& gpu : survey.gpus) {
    const bool is_wanted = std::find(ordinals.begin(), ordinals.end(), gpu.ordinal) != ordinals.end();
    if (is_wanted && gpu.problem.empty()) survey.measure(gpu);
  }
}

/// Says why several processes cannot count together on GPUs, as far as that is known beforehand; else empty.
std::string problem_of_ranks_on_gpus();

}  // namespace warpmer::host
