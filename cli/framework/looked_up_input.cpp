#include "cli/framework/looked_up_input.h"

#include <algorithm>

namespace warpmer::cli {

io::InputOptions input_in_order(const io::ReadingOptions& reading, std::uint32_t k, unsigned threads) {
  return {.reading = reading, .overlap_bases = k - 1, .threads = threads, .in_order = true};
}

void fit_batches(const MappedLookups& memory, const host::Resources& resources, io::InputOptions& options) {
  constexpr std::uint64_t kOfLookup = std::uint64_t{6} << 20;  // for each thread
  constexpr std::uint64_t kSmallestBatch = std::uint64_t{64} << 10;
  const std::uint64_t left = host::memory_left(resources.memory_bytes);
  const std::uint64_t others = memory.mapped_bytes + kOfLookup * memory.indexes * resources.threads;
  const std::uint64_t bytes = (left - std::min(left, others)) / resources.threads / memory.bytes_of_base;
  options.batch_bytes = std::clamp<std::uint64_t>(bytes, kSmallestBatch, options.batch_bytes);
}

}  // namespace warpmer::cli
