#include <algorithm>
#include <optional>

#include "kernels/freeze/payload_ring.cuh"

namespace warpmer::gpu {

PayloadRing::Room PayloadRing::take(std::uint32_t first_shard, std::uint64_t words,
                                    std::uint64_t wanted_words, ChunkSink& chunks) {
  if (words > memory_.size()) {
    // A reader without use for a chunk has not waited for it, and its memory is about to be freed.
    if (!chunks_.empty()) chunks_.back().ready.wait();
    while (!places_.is_empty()) give_back(chunks);
    memory_.reserve(std::max(words, wanted_words));
    places_ = RingPlaces(memory_.size());
  }
  std::optional<std::uint64_t> begin;
  while (!(begin = places_.take(words))) give_back(chunks);
  chunks_.push_back({first_shard, Event()});
  return {memory_.data() + *begin, &chunks_.back().ready};
}

void PayloadRing::give_back(ChunkSink& chunks) {
  chunks.wait_for(chunks_.front().first_shard);
  chunks_.pop_front();
  places_.give_back();
}

}  // namespace warpmer::gpu
