#pragma once
/// Shards that lie side by side in an index file, and are written together.

#include <cstdint>
#include <memory>
#include <vector>

#include "file/output/output_file.h"
#include "index/frozen_shard.h"

namespace warpmer::index {

/// Small shards are written together, about so many bytes at a time.
inline constexpr std::uint64_t kPlacedBytes = std::uint64_t{1} << 20;

/// Consecutive shards with their place in the file; or one that has a source.
struct PlacedShards {
  std::uint64_t offset = 0;
  std::vector<std::vector<std::uint64_t>> payloads;
  std::shared_ptr<PayloadSource> source;
  std::uint32_t shard = 0;     ///< the one with the source
  std::uint64_t checksum = 0;  ///< checksum of what has come from there, once it is written

  /// Writes it. Returns its bytes. ResourceErrors as file::OutputFile has them, and those of the source.
  std::uint64_t write(file::OutputFile& file);
};

}  // namespace warpmer::index
