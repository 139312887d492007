#pragma once
/// Merges an index on a GPU: its shards come in, counted k-mers are added to them and taken away, and the
/// shards of the new index come out.

#include <cstdint>
#include <memory>

#include "backend/tally.h"
#include "backend/update_session.h"
#include "index/index_file.h"
#include "kernels/freeze/frozen_chunk.cuh"
#include "kernels/update/chunk_feed.cuh"

namespace warpmer::gpu {

/// The memory that may be held on the device, and on the host for copying there. It does not depend on the
/// size of the index, except that the largest shard has to fit.
struct MergerPlan {
  std::uint64_t step_kmers = 0;  ///< of all that is merged at once, unless one shard has more
  std::uint64_t most_kmers = 0;  ///< the same when a single shard has more
  std::uint64_t step_words = 0;  ///< words of the index that are merged at once, unless one shard has more
  std::uint64_t ring_words = 0;  ///< words of the index on the device
  unsigned uploaders = 1;        ///< threads that copy the index to the device
  std::uint64_t uploader_bytes = 0;  ///< host memory for each of these

  [[nodiscard]] std::uint64_t device_bytes(std::uint32_t k) const;
  [[nodiscard]] std::uint64_t host_bytes() const { return uploaders * uploader_bytes; }
};

/// Returns the plan that takes so many bytes of a GPU and of the host, or less if more would not be faster,
/// for each of `devices` at once. Throws a ResourceError when the largest shard does not fit.
MergerPlan plan_merger(const index::IndexFile& index, std::uint64_t device_bytes, std::uint64_t host_bytes,
                       std::size_t devices);

/// Merges some consecutive shards, on the current device. Not thread-safe.
class IndexMerger {
 public:
  virtual ~IndexMerger() = default;

  /// Makes all shards, as DeviceCounter::finish does: those of the index, with those of `added` added to
  /// them, and then those of `removed` taken away; either may be null.
  /// Throws an InputError for a damaged shard.
  virtual void merge(ChunkFeed* added, ChunkFeed* removed, ChunkSink& chunks) = 0;

  // The following are called after `merge`.
  [[nodiscard]] virtual const backend::Tally& tally() const = 0;
  [[nodiscard]] virtual backend::Shortfall shortfall() const = 0;
  [[nodiscard]] virtual double seconds() const = 0;         ///< time that the GPU was busy merging
  [[nodiscard]] virtual double seconds_waited() const = 0;  ///< time that it waited for the index
  [[nodiscard]] virtual std::uint64_t bytes() const = 0;    ///< bytes of the index that have come
};

/// Makes the merger of shards [first, end) of an index, which must outlive it.
std::unique_ptr<IndexMerger> make_index_merger(const index::IndexFile& index, index::ShardRange shards,
                                               const MergerPlan& plan);

}  // namespace warpmer::gpu
