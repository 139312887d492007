#pragma once
/// The text of a batch as the GPU gets it: its sequences one after another, with a separator behind each, as
/// a whole or in slices.

#include <cstdint>

#include "io/text/batch.h"

namespace warpmer::gpu {

/// The place of a piece of a batch in joined text.
struct JoinedPiece {
  std::size_t number = 0;  ///< number of the piece
  std::uint64_t at = 0;    ///< offset of its first character, or of its separator when it is empty

  void go_to_next(const io::Batch& batch) { at += std::uint64_t{batch.pieces[number++].length} + 1; }
  /// Goes forward to the piece that, its separator included, holds the character at `offset`.
  void go_to(const io::Batch& batch, std::uint64_t offset) {
    while (offset > at + batch.pieces[number].length) go_to_next(batch);
  }
};

/// Returns the number of characters of the joined text, separators included.
std::uint64_t joined_bytes(const io::Batch& batch);

/// Writes the `bytes` characters from offset `from` on, of which `piece` holds the first.
void join(const io::Batch& batch, JoinedPiece piece, std::uint64_t from, std::uint64_t bytes, char* to);

/// Throws the InputError for the character at `offset`, which is no nucleotide code.
[[noreturn]] void throw_bad_base(const io::Batch& batch, std::uint64_t offset);

}  // namespace warpmer::gpu
