#include "index/writer/placed_shards.h"

#include "file/checksum.h"

namespace warpmer::index {
namespace {

/// Writes a payload as it comes, in order.
std::uint64_t write_source(PlacedShards& shards, file::OutputFile& file) {
  file::Checksum checksum;
  std::uint64_t at = shards.offset;
  for (auto words = shards.source->next(); !words.empty(); words = shards.source->next()) {
    const file::WritePiece piece{words.data(), words.size_bytes()};
    checksum.add(piece);
    file.write(at, {&piece, 1});
    at += piece.bytes;
  }
  shards.checksum = checksum.value();
  return at - shards.offset;
}

}  // namespace

std::uint64_t PlacedShards::write(file::OutputFile& file) {
  if (source) return write_source(*this, file);
  std::vector<file::WritePiece> pieces;
  pieces.reserve(payloads.size());
  std::uint64_t bytes = 0;
  for (const auto& payload : payloads) {
    pieces.push_back({payload.data(), payload.size() * sizeof payload[0]});
    bytes += pieces.back().bytes;
  }
  file.write(offset, pieces);
  return bytes;
}

}  // namespace warpmer::index
