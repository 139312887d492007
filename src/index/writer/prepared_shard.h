#pragma once
/// A shard that is ready to be written: all is done that can be done without knowing the shards before it.

#include <cstdint>
#include <memory>
#include <vector>

#include "index/frozen_shard.h"
#include "index/index_layout.h"

namespace warpmer::index {

/// A shard with what the directory says of it, but for its place in the file.
struct PreparedShard {
  std::uint32_t shard = 0;
  layout::DirectoryEntry entry;  ///< without a checksum where there is a source
  std::vector<std::uint64_t> payload;
  std::shared_ptr<PayloadSource> source;
  /// Returns the bytes in the index, and in memory.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return entry.payload_words * sizeof(std::uint64_t); }
  [[nodiscard]] std::uint64_t held_bytes() const noexcept { return payload.size() * sizeof(std::uint64_t); }
};

/// Prepares a shard of an index with these parameters. InternalError for one that cannot be of such an index.
[[nodiscard]] PreparedShard prepare(std::uint32_t shard, FrozenShard&& frozen, const IndexParams& params);

/// Return what the directory is going to say of a shard, but for its place and its checksum. InternalErrors
/// as `prepare`.
[[nodiscard]] layout::DirectoryEntry entry_for(std::uint32_t shard, const ShardShape& shape,
                                               std::uint64_t payload_words, const IndexParams& params);
[[nodiscard]] layout::DirectoryEntry entry_for(std::uint32_t shard, const groups::ShardSizes& sizes,
                                               const IndexParams& params);

}  // namespace warpmer::index
