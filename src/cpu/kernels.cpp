#include "cpu/kernels.h"

#include <cstdlib>
#include <string>

#include "core/error.h"

namespace warpmer::cpu {

extern const Kernels kKernels_v2;
#if defined(WARPMER_X86_KERNELS)
extern const Kernels kKernels_avx2;
extern const Kernels kKernels_avx512;
#endif

std::vector<const Kernels*> available_kernels() {
  std::vector<const Kernels*> kernels{&kKernels_v2};
#if defined(WARPMER_X86_KERNELS)
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                  __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("f16c") && __builtin_cpu_supports("lzcnt");
  if (v3) kernels.push_back(&kKernels_avx2);
  if (v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    kernels.push_back(&kKernels_avx512);
  }
#endif
  return kernels;
}

const Kernels& best_kernels() {
  const auto kernels = available_kernels();
  const char* wanted = std::getenv("WARPMER_ISA");
  if (wanted == nullptr || *wanted == '\0') return *kernels.back();
  std::string names;
  for (const Kernels* k : kernels) {
    if (std::string_view(wanted) == k->name) return *k;
    names += std::string(names.empty() ? "" : ", ") + k->name;
  }
  throw UsageError("WARPMER_ISA names '" + std::string(wanted) + "'; this machine can run " + names);
}

}  // namespace warpmer::cpu
