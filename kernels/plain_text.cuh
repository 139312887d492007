#pragma once
/// What finding sequences in text as it is in a file has in common, be it FASTQ (plain_fastq.cuh) or FASTA
/// (plain_fasta.cuh): tiles, of sixteen bytes for each thread.

#include <cuda_runtime.h>

#include <cstdint>

namespace warpmer::gpu {

/// What is in a text. If `odd` is not 0, it is not plain, and the rest means nothing.
struct TextFindings {
  std::uint32_t records;
  std::uint32_t odd;  ///< places that are not as they should be, about
  unsigned long long bases;
};

inline constexpr std::uint32_t kPlainThreads = 256;
inline constexpr std::uint32_t kPlainWarps = kPlainThreads / 32;
inline constexpr std::uint32_t kPlainBytesPerThread = 16;
inline constexpr std::uint32_t kPlainTileBytes = kPlainThreads * kPlainBytesPerThread;

constexpr std::uint32_t plain_tiles_in(std::uint32_t bytes) {
  return (bytes + kPlainTileBytes - 1) / kPlainTileBytes;
}

/// Which of sixteen bytes there are at `at` in a text of `bytes`.
__device__ inline std::uint32_t sixteen_in(std::uint32_t at, std::uint32_t bytes) {
  if (at >= bytes) return 0;
  return bytes - at >= 16 ? 0xFFFFu : (1u << (bytes - at)) - 1;
}

/// Which of sixteen bytes are this character.
__device__ inline std::uint32_t which_are(uint4 sixteen, char character) {
  const std::uint32_t words[4] = {sixteen.x, sixteen.y, sixteen.z, sixteen.w};
  const std::uint32_t four = static_cast<unsigned char>(character) * 0x01010101u;
  std::uint32_t which = 0;
#pragma unroll
  for (std::uint32_t w = 0; w < 4; ++w) {
    const std::uint32_t equal = __vcmpeq4(words[w], four) & 0x08040201u;  // a bit for each byte
    which |= ((equal * 0x01010101u) >> 24) << (4 * w);
  }
  return which;
}

}  // namespace warpmer::gpu
