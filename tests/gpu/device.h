#pragma once
/// The GPU that tests run on: the first that warpmer can use. It is current on the main thread.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "host/gpus.h"
#include "kmer/kmer.h"

namespace warpmer::tests {

/// Makes the first GPU current, and the one under test. Returns the reason if there is none, else nothing.
std::string choose_gpu();

const host::Gpu& gpu_under_test();

/// Returns all GPUs that warpmer can use.
inline std::vector<int> all_gpus() {
  std::vector<int> ordinals;
  for (const host::Gpu& gpu : host::survey_gpus().gpus) {
    if (gpu.problem.empty()) ordinals.push_back(gpu.ordinal);
  }
  return ordinals;
}

/// Returns sets of devices, each named by its GPU: the one under test two and three times, and all that there
/// are.
inline std::vector<std::vector<int>> sets_of_gpus() {
  const int gpu = gpu_under_test().ordinal;
  std::vector<std::vector<int>> sets = {{gpu, gpu}, {gpu, gpu, gpu}};
  const std::vector<int> all = all_gpus();
  if (all.size() > 1) sets.push_back(all);
  return sets;
}

/// True when k-mers of this length can be counted on it: 128-bit keys need compute capability 9.0.
inline bool can_count(std::uint32_t k) { return k <= kMaxNarrowK || gpu_under_test().major >= 9; }

/// Returns the lengths, out of `all_k`, that can be counted.
inline std::vector<std::uint32_t> countable(const std::vector<std::uint32_t>& all_k) {
  std::vector<std::uint32_t> some;
  std::copy_if(all_k.begin(), all_k.end(), std::back_inserter(some), can_count);
  return some;
}

}  // namespace warpmer::tests
