// Kernels for avx2; compile options in CMakeLists.txt.

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <bit>
#include <span>

#include "cpu/simd/kernels.h"
#include "groups/string_lookup.h"
#include "kmer/minimizer.h"

namespace warpmer::cpu {
namespace {
#include "cpu/simd/kernels_body.h"
#include "cpu/simd/kernels_cut_body.h"
#include "cpu/simd/kernels_cut_lanes_body.h"
#include "cpu/simd/kernels_flanked_body.h"
#include "cpu/simd/kernels_lookup_body.h"
}  // namespace

extern const Kernels kKernels_avx2;
const Kernels kKernels_avx2 = {"avx2",
                               Isa::avx2,
                               pack,
                               cut_flanked<2>,
                               cut_flanked<4>,
                               find_strings<2>,
                               find_strings<4>,
                               kShardKernels<Key64, 2>,
                               kShardKernels<Key128, 2>,
                               kShardKernels<Key128, 4>};

}  // namespace warpmer::cpu
