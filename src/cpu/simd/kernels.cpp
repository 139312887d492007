#include "cpu/simd/kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cstdlib>
#include <string>

#include "base/error.h"

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
  // x86-64-v3 as the compiler takes it. Some of it has no name that every compiler knows to ask by.
  const auto has = [](unsigned leaf, unsigned bits) {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid(leaf, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bits) == bits;
  };
  const bool v3 = has(1, bit_MOVBE | bit_F16C) && has(0x80000001, bit_ABM) &&  // ABM: LZCNT
                  __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                  __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
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
