#pragma once
/// The common part of finding sequences in undecoded file text, FASTQ (kernels/text/plain_fastq.cuh) or FASTA
/// (kernels/text/plain_fasta.cuh): tiles of sixteen bytes for each thread.

#include <cuda_runtime.h>

#include <cstdint>

namespace warpmer::gpu {

/// The findings in a text. If `odd` is not 0, the text is not plain, and the rest means nothing.
struct TextFindings {
  std::uint32_t records;
  std::uint32_t odd;  ///< approximate number of places that are not as they should be
  unsigned long long bases;
};

inline constexpr std::uint32_t kPlainThreads = 256;
inline constexpr std::uint32_t kPlainWarps = kPlainThreads / 32;
inline constexpr std::uint32_t kPlainBytesPerThread = 16;
inline constexpr std::uint32_t kPlainTileBytes = kPlainThreads * kPlainBytesPerThread;

constexpr std::uint32_t plain_tiles_in(std::uint32_t bytes) {
  return (bytes + kPlainTileBytes - 1) / kPlainTileBytes;
}

/// Returns a mask of the sixteen bytes from `at` on that are inside a text of `bytes` bytes.
__device__ inline std::uint32_t sixteen_in(std::uint32_t at, std::uint32_t bytes) {
  if (at >= bytes) return 0;
  return bytes - at >= 16 ? 0xFFFFu : (1u << (bytes - at)) - 1;
}

/// Returns a bit for each of sixteen bytes, of which `compare` makes ones or zeros, four at a time.
template <class Compare>
__device__ inline std::uint32_t which_of(uint4 sixteen, const Compare& compare) {
  const std::uint32_t words[4] = {sixteen.x, sixteen.y, sixteen.z, sixteen.w};
  std::uint32_t which = 0;
#pragma unroll
  for (std::uint32_t w = 0; w < 4; ++w) {
    const std::uint32_t found = compare(words[w]) & 0x08040201u;
    which |= ((found * 0x01010101u) >> 24) << (4 * w);
  }
  return which;
}

/// Returns a mask of the sixteen bytes that are this character.
__device__ inline std::uint32_t which_are(uint4 sixteen, char character) {
  const std::uint32_t four = static_cast<unsigned char>(character) * 0x01010101u;
  return which_of(sixteen, [four](std::uint32_t word) { return __vcmpeq4(word, four); });
}

/// Returns a mask of the sixteen bytes that are this character, or one with a lower code.
__device__ inline std::uint32_t which_are_up_to(uint4 sixteen, char character) {
  const std::uint32_t four = static_cast<unsigned char>(character) * 0x01010101u;
  return which_of(sixteen, [four](std::uint32_t word) { return __vcmpleu4(word, four); });
}

}  // namespace warpmer::gpu
