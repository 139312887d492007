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

#if defined(WARPMER_X86_KERNELS)
namespace {

struct Registers {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(unsigned leaf) {
  Registers r;
  __get_cpuid_count(leaf, 0, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

bool has_all(unsigned flags, unsigned wanted) { return (flags & wanted) == wanted; }

/// Returns which registers the operating system saves (XCR0), as the bits of XGETBV; 0 if it does not say.
unsigned saved_registers(unsigned leaf_1_ecx) {
  if (!has_all(leaf_1_ecx, bit_OSXSAVE)) return 0;
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

}  // namespace
#endif

// The processor is asked here and not with __builtin_cpu_supports, because that has a constructor which asks
// for everything at each start of the program. In a virtual machine each CPUID takes some 15 us.
std::vector<const Kernels*> available_kernels() {
  std::vector<const Kernels*> kernels{&kKernels_v2};
#if defined(WARPMER_X86_KERNELS)
  constexpr unsigned kYmm = 0x6, kZmm = 0xe6;  // XCR0: SSE and AVX; opmasks and both parts of ZMM besides
  const Registers basic = cpuid(1), extended = cpuid(7), amd = cpuid(0x80000001);
  const unsigned saved = saved_registers(basic.ecx);
  const bool v3 = has_all(saved, kYmm) && has_all(basic.ecx, bit_AVX | bit_FMA | bit_MOVBE | bit_F16C) &&
                  has_all(extended.ebx, bit_AVX2 | bit_BMI | bit_BMI2) &&
                  has_all(amd.ecx, bit_ABM);  // ABM: LZCNT
  if (v3) kernels.push_back(&kKernels_avx2);
  if (v3 && has_all(saved, kZmm) &&
      has_all(extended.ebx, bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ | bit_AVX512VL)) {
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
