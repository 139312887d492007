#include "file/checksum.h"

// What CMake has found is the machine's that compiles; it may compile for another.
#if WARPMER_XXHASH_DISPATCH && defined(__x86_64__)
#define WARPMER_HAS_WIDE_VECTORS
#include <cpuid.h>
#include <xxh_x86dispatch.h>  // the same functions, for the vectors that this processor has
#else
#include <xxhash.h>
#endif

#include <new>

namespace warpmer::file {
namespace {

/// Has to follow what the library does with vectors: its functions for AVX-512 (0.8.1) leave the upper halves
/// of registers in use. Then all that is compiled for SSE, the C library's `exp` among it, takes up to eight
/// times as long, until a function for AVX comes to its end.
void end_wide_vectors() noexcept {
#ifdef WARPMER_HAS_WIDE_VECTORS
  static const bool has_wide = [] {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_OSXSAVE) != 0 && (ecx & bit_AVX) != 0;
  }();
  if (has_wide) asm volatile("vzeroupper");
#endif
}

}  // namespace

std::uint64_t checksum(const void* data, std::size_t bytes) noexcept {
  const std::uint64_t value = XXH3_64bits(data, bytes);
  end_wide_vectors();
  return value;
}

std::uint64_t checksum(std::span<const WritePiece> pieces) {
  Checksum all;
  for (const WritePiece& piece : pieces) all.add(piece);
  return all.value();
}

struct Checksum::HashState {
  XXH3_state_t* const xxh3 = XXH3_createState();
  ~HashState() { XXH3_freeState(xxh3); }
};

Checksum::Checksum() : state_(std::make_unique<HashState>()) {
  if (state_->xxh3 == nullptr) throw std::bad_alloc();
  XXH3_64bits_reset(state_->xxh3);
}
Checksum::~Checksum() = default;

void Checksum::add(const WritePiece& piece) noexcept {
  XXH3_64bits_update(state_->xxh3, piece.data, piece.bytes);
  end_wide_vectors();
}
std::uint64_t Checksum::value() const noexcept { return XXH3_64bits_digest(state_->xxh3); }

}  // namespace warpmer::file
