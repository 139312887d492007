#pragma once
/// Places of shards in an index.

#include <cstdint>
#include <span>

#include "index/frozen_shard.h"

namespace warpmer::index {

/// Knows places of shards before they are there. Thread-safe.
class ReservedOffsets {
 public:
  virtual ~ReservedOffsets() = default;
  /// Announces the shapes of consecutive shards, each of which is going to be put.
  virtual void announce(std::uint32_t first, std::span<const ShardShape> shapes) = 0;
  /// Announces consecutive shards of strings.
  virtual void announce(std::uint32_t first, std::span<const groups::ShardSizes> sizes) = 0;
  /// True when a shard that was announced has its place, since those of all shards before are known: what is
  /// put of it now is written at once, by the thread that puts it, and a source need not live longer than
  /// that.
  [[nodiscard]] virtual bool has_offset(std::uint32_t shard) const = 0;
};

}  // namespace warpmer::index
