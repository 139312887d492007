#pragma once
/// Brings an index's shards through a GPU's memory, in order.

#include <cstdint>
#include <deque>
#include <memory>

#include "index/index_file.h"
#include "kernels/memory/device_memory.cuh"
#include "kernels/memory/ring_places.cuh"
#include "kernels/upload/shard_uploader.cuh"

namespace warpmer::gpu {

/// Shards come as soon as there is room for them behind those before. Not thread-safe.
class IndexShardWindow {
 public:
  /// Uses `words` words of the current device, at least as many as the largest shard has.
  IndexShardWindow(const index::IndexFile& index, index::ShardRange shards, std::uint64_t words,
                   unsigned threads);

  /// Begins to bring the shards for which there is room, and to read those behind them.
  void begin();
  /// Returns the end of the shards that have been begun, and not given back.
  [[nodiscard]] std::uint32_t end() const { return end_; }
  /// Waits for all shards before `end`; work that is enqueued in `stream` from then on finds them there.
  /// Throws an InputError for a damaged one.
  void wait_for(std::uint32_t end, cudaStream_t stream) { uploaders_.finish(end, stream); }
  /// Returns the payload, on the device, of one of the shards that have been begun.
  [[nodiscard]] const std::uint64_t* payload(std::uint32_t shard) const;
  /// Gives all shards before `end` back: only work that was enqueued in `stream` so far uses them. Begins to
  /// bring more.
  void give_back(std::uint32_t end, cudaStream_t stream);

  /// Returns, by shard, the number of words of all payloads before the shard's, and in the end of all.
  [[nodiscard]] const std::vector<std::uint64_t>& first_words() const { return uploaders_.first_words(); }

 private:
  /// Shards that have come together.
  struct WindowPart {
    std::uint32_t first, end;
    std::uint64_t at;  ///< number of the first word
  };

  void read_ahead();

  const index::ShardRange shards_;
  DeviceArray<std::uint64_t> words_;
  RingPlaces places_;
  std::deque<WindowPart> parts_;  ///< one part for each place
  std::uint32_t end_;
  std::deque<std::uint32_t> ahead_;          ///< ends of parts behind these, which are being read
  std::shared_ptr<const Event> given_back_;  ///< event of the last time that shards were given back
  ShardUploader uploaders_;                  ///< ends before the memory is freed
};

}  // namespace warpmer::gpu
