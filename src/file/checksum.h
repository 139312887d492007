#pragma once
/// The checksum of all that warpmer writes to files.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "file/write_pieces.h"

namespace warpmer::file {

/// Returns XXH3, 64 bits, seed 0.
[[nodiscard]] std::uint64_t checksum(const void* data, std::size_t bytes) noexcept;
/// Returns the checksum of pieces, as if they stood one behind the other.
[[nodiscard]] std::uint64_t checksum(std::span<const WritePiece> pieces);

/// The checksum of bytes that come piece by piece.
class Checksum {
 public:
  Checksum();
  ~Checksum();
  void add(const WritePiece& piece) noexcept;
  /// Returns the checksum of what has been added so far.
  [[nodiscard]] std::uint64_t value() const noexcept;

 private:
  struct HashState;
  std::unique_ptr<HashState> state_;
};

}  // namespace warpmer::file
