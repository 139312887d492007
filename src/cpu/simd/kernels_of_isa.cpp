// The kernels for one instruction set. CMakeLists.txt compiles this source as it is for x86-64-v2, and for
// any CPU other than x86, and for each other set once more, with its name in WARPMER_ISA.

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <bit>
#include <span>

#include "cpu/simd/kernels.h"
#include "groups/quick_place.h"
#include "groups/string_lookup.h"
#include "kmer/minimizer.h"

namespace warpmer::cpu {
namespace {
#include "cpu/simd/kernels_body.h"
#include "cpu/simd/kernels_cut_body.h"
#include "cpu/simd/kernels_cut_lanes_body.h"
#include "cpu/simd/kernels_fields_body.h"
#include "cpu/simd/kernels_flanked_body.h"
#include "cpu/simd/kernels_lookup_body.h"
#include "cpu/simd/kernels_place_body.h"

template <class Key, int Words>
constexpr ShardKernels<Key, Words> kShardKernels = {append<Key, Words>, place<Key>, reduce<Key>,
                                                    find_minimizers<Key>};
}  // namespace

#define WARPMER_TEXT_OF(isa) #isa
#define WARPMER_TEXT(isa) WARPMER_TEXT_OF(isa)
#if defined(WARPMER_ISA)
constexpr const char* kName = WARPMER_TEXT(WARPMER_ISA);
#elif defined(__x86_64__)
#define WARPMER_ISA v2
constexpr const char* kName = "x86-64-v2";
#else
#define WARPMER_ISA v2
constexpr const char* kName = "generic";
#endif

#define WARPMER_KERNELS_OF(isa) kKernels_##isa
#define WARPMER_KERNELS(isa) WARPMER_KERNELS_OF(isa)
extern const Kernels WARPMER_KERNELS(WARPMER_ISA);
const Kernels WARPMER_KERNELS(WARPMER_ISA) = {kName,
                                              Isa::WARPMER_ISA,
                                              pack,
                                              cut_flanked<2>,
                                              cut_flanked<4>,
                                              find_strings<2>,
                                              find_strings<4>,
                                              kShardKernels<Key64, 2>,
                                              kShardKernels<Key128, 2>,
                                              kShardKernels<Key128, 4>};

}  // namespace warpmer::cpu
