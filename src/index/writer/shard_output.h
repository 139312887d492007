#pragma once
/// The interface of what takes the shards of an index that is being made.

#include <cstdint>
#include <vector>

#include "index/frozen_shard.h"
#include "index/writer/reserved_offsets.h"

namespace warpmer::index {

/// Takes shards from any thread, in any order.
class ShardOutput : public ReservedOffsets {
 public:
  /// Hands over one shard, each at most once. A source is read when the place of its shard is known, by the
  /// thread that comes by, and must live until then. ResourceError on a failed write (disk full).
  virtual void put(std::uint32_t shard, FrozenShard&& frozen) = 0;

  /// Keeps what is written from now on out of the page cache: for a job that is short of memory.
  virtual void leave_cache() noexcept = 0;

  /// Returns a payload that is written, for its memory (what it holds is of no more use); empty if there is
  /// none.
  virtual std::vector<std::uint64_t> take_spare() { return {}; }

  /// Waits while `shard`, which was put, has no place in the file yet, and more than `most_bytes` of frozen
  /// shards are waiting in memory.
  virtual void wait_for_place(std::uint32_t /*shard*/, std::uint64_t /*most_bytes*/) const {}
  /// Lets no thread wait for a place from now on. Takes no lock: any thread may call it, whatever others are
  /// at.
  virtual void cancel_waiting() noexcept {}
};

}  // namespace warpmer::index
