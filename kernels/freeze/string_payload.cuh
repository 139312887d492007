#pragma once
/// Writes the payloads of shards, as groups/shard_encoder.h does.

#include "kernels/freeze/string_groups.cuh"
#include "kernels/freeze/string_order.cuh"

namespace warpmer::gpu {

/// Enqueues the ordering of strings and the writing of their payloads to `words`, which have room for those
/// of all shards that `groups` has measured, one behind the other, and may have any contents.
template <class Key>
void write_strings(const GroupedStrings<Key>& grouped, const StringGroups<Key>& groups,
                   StringOrder<Key>& order, unsigned long long* words, cudaStream_t stream);

}  // namespace warpmer::gpu
