#pragma once
/// An index's shards on their way through a GPU's memory, in order.

#include <cstdint>
#include <deque>
#include <memory>

#include "index/index_file.h"
#include "kernels/memory/device_memory.cuh"
#include "kernels/memory/ring_places.cuh"
#include "kernels/upload/upload_team.cuh"

namespace warpmer::gpu {

/// Shards come as soon as there is room for them behind those before. Not thread-safe.
class ComingShards {
 public:
  /// Through so many words, at least as many as the largest shard has, of the current device.
  ComingShards(const index::IndexFile& index, index::ShardRange shards, std::uint64_t words,
               unsigned threads);

  /// Begins to bring what there is room for, and to read what comes behind it.
  void begin();
  /// The end of those that have been begun, and not given back.
  [[nodiscard]] std::uint32_t end() const { return end_; }
  /// Whether nobody has to be waited for until all before `end` are on the device, or on their way there.
  [[nodiscard]] bool are_read(std::uint32_t end) { return uploaders_.has_read(end); }
  /// Waits for them; what is enqueued in `stream` from then on finds them there. InputError for a damaged
  /// one.
  void wait_for(std::uint32_t end, cudaStream_t stream) { uploaders_.finish(end, stream); }
  /// One of those begun.
  [[nodiscard]] index::ShardView view(std::uint32_t shard) const;
  /// All before `end`: what was enqueued in `stream` so far is all that works on them. Begins to bring more.
  void give_back(std::uint32_t end, cudaStream_t stream);

  /// Words of all payloads before a shard's, by shard; and of all.
  [[nodiscard]] const std::vector<std::uint64_t>& first_words() const { return uploaders_.first_words(); }

 private:
  /// Shards that have come together.
  struct Part {
    std::uint32_t first, end;
    std::uint64_t at;  ///< first word
  };

  void read_ahead();

  const index::IndexFile& index_;
  const index::ShardRange shards_;
  DeviceArray<std::uint64_t> words_;
  RingPlaces places_;
  std::deque<Part> parts_;  ///< one for each place
  std::uint32_t end_;
  std::deque<std::uint32_t> ahead_;          ///< ends of parts behind that, which are being read
  std::shared_ptr<const Event> given_back_;  ///< the last time
  UploadTeam uploaders_;                     ///< ends before its memory goes
};

}  // namespace warpmer::gpu
