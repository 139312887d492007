#include "file/checksum.h"

#if WARPMER_XXHASH_DISPATCH
#include <xxh_x86dispatch.h>  // the same functions, for the vectors that this processor has
#else
#include <xxhash.h>
#endif

#include <new>

namespace warpmer::file {

std::uint64_t checksum(const void* data, std::size_t bytes) noexcept { return XXH3_64bits(data, bytes); }

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
}
std::uint64_t Checksum::value() const noexcept { return XXH3_64bits_digest(state_->xxh3); }

}  // namespace warpmer::file
