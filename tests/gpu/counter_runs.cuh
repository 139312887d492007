#pragma once
/// Runs counters of one GPU for tests: reads go in, and frozen shards come out. The counter's GPU must be
/// current.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels/freeze/frozen_chunk.cuh"
#include "kernels/session/device_counter.cuh"
#include "kernels/text/text_packing.cuh"

namespace warpmer::tests {

/// The payloads of shards that are not empty.
using Payloads = std::map<std::uint32_t, std::vector<std::uint64_t>>;

/// Adds all reads `times` times.
inline void feed(gpu::DeviceCounter& counter, const std::vector<std::string>& reads, int times = 1) {
  std::string text;
  for (const auto& read : reads) text += read + gpu::kSeparator;
  const auto bytes = static_cast<std::uint32_t>(text.size());
  gpu::DeviceArray<char> device(gpu::text_room(bytes));
  gpu::DeviceArray<std::uint32_t> left[2];
  for (auto& tiles : left) tiles.reserve(gpu::tiles_of(bytes) + 1);
  gpu::DeviceArray<gpu::CutStatus> status(1);
  gpu::copy_to_device(device.data(), text.data(), bytes, counter.stream());
  for (int i = 0; i < times; ++i) {
    const std::uint32_t* tiles = nullptr;
    for (std::uint32_t tile_count = gpu::tiles_of(bytes); tile_count > 0;) {
      gpu::reset_status(status.data(), counter.stream());
      counter.add(device.data(), bytes, tiles, tile_count, left[0].data(), status.data());
      gpu::CutStatus now{};
      gpu::copy_to_host(&now, status.data(), 1, counter.stream());
      gpu::check(cudaStreamSynchronize(counter.stream()), "cutting");
      tile_count = now.tiles_left;
      if (tile_count > 0 || counter.wants_room(now.fullest)) counter.make_room();
      std::swap(left[0], left[1]);
      tiles = left[1].data();
    }
  }
}

/// Copies chunks at once.
class CopiedChunks : public gpu::ChunkSink {
 public:
  explicit CopiedChunks(Payloads& payloads) : payloads_(payloads) {}

  void put(gpu::FrozenChunk&& chunk) override {
    gpu::check(cudaEventSynchronize(*chunk.ready), "freezing");
    for (std::uint32_t s = 0; s < chunk.shards(); ++s) {
      const gpu::StringPlan& plan = chunk.strings[s];
      if (plan.sizes.words == 0) continue;
      auto& payload = payloads_[chunk.first_shard + s];
      payload.resize(plan.sizes.words);
      gpu::check(cudaMemcpyAsync(payload.data(), chunk.payload + plan.first_word, payload.size() * 8,
                                 cudaMemcpyDeviceToHost, gpu::DriverLock::Shared(cudaStreamPerThread)),
                 "copying");
      gpu::check(cudaStreamSynchronize(cudaStreamPerThread), "copying");
    }
  }
  void wait_for(std::uint32_t /*first_shard*/) override {}

 private:
  Payloads& payloads_;
};

/// Counts the reads that were fed, when all counters that work together have been told that no more come.
inline void finish(gpu::DeviceCounter& counter, Payloads& payloads) {
  CopiedChunks chunks(payloads);
  counter.finish(chunks);
}

}  // namespace warpmer::tests
