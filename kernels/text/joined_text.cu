#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "kernels/text/joined_text.cuh"
#include "kernels/text/text_packing.cuh"

namespace warpmer::gpu {

std::uint64_t joined_bytes(const io::Batch& batch) {
  std::uint64_t bytes = 0;
  for (const io::Piece& piece : batch.pieces) bytes += std::uint64_t{piece.length} + 1;
  return bytes;
}

void join(const io::Batch& batch, JoinedPiece piece, std::uint64_t from, std::uint64_t bytes, char* to) {
  std::uint64_t skip = from - piece.at;
  while (bytes > 0) {
    const io::Piece& source = batch.pieces[piece.number];
    const std::uint64_t n = std::min(source.length - skip, bytes);
    std::memcpy(to, batch.text.data() + source.offset + skip, n);
    to += n;
    bytes -= n;
    if (bytes == 0) return;
    *to++ = kSeparator;
    --bytes;
    skip = 0;
    piece.go_to_next(batch);
  }
}

void throw_bad_base(const io::Batch& batch, std::uint64_t offset) {
  JoinedPiece piece;
  if (offset < joined_bytes(batch)) {
    piece.go_to(batch, offset);
    const io::Piece& source = batch.pieces[piece.number];
    if (offset - piece.at < source.length) io::throw_bad_base(batch, source, offset - piece.at);
  }
  throw InternalError("the GPU refused a character that was never sent");
}

}  // namespace warpmer::gpu
