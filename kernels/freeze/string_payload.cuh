#pragma once
/// Writes the payloads of shards, as groups/shard_encoder.h does.

#include <cstdint>

#include "kernels/freeze/string_groups.cuh"
#include "kernels/freeze/string_order.cuh"

namespace warpmer::gpu {

/// Enqueues the writing of payloads to `words`, which are `word_count` in all and may have any contents;
/// `large_groups` is the number of large groups.
template <class Key>
void launch_write_payloads(const GroupedStrings<Key>& grouped,
                           const typename StringOrder<Key>::OrderedStrings& order, std::uint64_t large_groups,
                           unsigned long long* words, std::uint64_t word_count, cudaStream_t stream);

}  // namespace warpmer::gpu
