#pragma once
/// Texts for tests of kernels, and a batch that is one of them.

#include <cstdint>
#include <random>
#include <string>

#include "io/text/batch.h"

namespace warpmer::tests {

/// Returns a batch of one piece with this text.
inline io::Batch batch_of(const std::string& text) {
  io::Batch batch;
  batch.text.append(text);
  io::Piece piece;
  piece.record = 1;
  piece.length = static_cast<std::uint32_t>(text.size());
  batch.pieces.push_back(piece);
  return batch;
}

}  // namespace warpmer::tests
