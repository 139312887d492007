#pragma once
/// Macros that the same source needs to compile for a CPU and for CUDA.

#if defined(__CUDACC__)
#define WARPMER_HD __host__ __device__ __forceinline__
#define WARPMER_HD_INLINE WARPMER_HD
#else
/// Always inlined: files compiled for AVX2 or AVX-512 must not leave out-of-line copies behind that
/// the linker could pick for the whole program (scripts/check_isa.sh).
#define WARPMER_HD [[gnu::always_inline]] inline
/// For what a GPU needs in line, and a CPU where the compiler thinks so.
#define WARPMER_HD_INLINE inline
#endif
