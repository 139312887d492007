#pragma once
/// Writing several pieces of memory by few system calls.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace warpmer::file {

/// A piece of memory to be written.
struct WritePiece {
  const void* data = nullptr;
  std::size_t bytes = 0;
};

std::uint64_t bytes_of(std::span<const WritePiece> pieces);

/// The outcome of writing pieces.
struct PiecesWritten {
  std::uint64_t bytes = 0;  ///< written
  int error = 0;            ///< why not all (errno); 0: they are
};

/// Writes the pieces one after the other from `offset` on, or, without one, where a stream is.
PiecesWritten write_pieces(int descriptor, std::optional<std::uint64_t> offset,
                           std::span<const WritePiece> pieces);

}  // namespace warpmer::file
