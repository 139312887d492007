#pragma once
/// Writes the payloads of shards, as groups/shard_encoder.h does.

#include <cstdint>

#include "kernels/freeze/string_groups.cuh"
#include "kernels/freeze/string_order.cuh"

namespace warpmer::gpu {

/// Where the fields of a group's strings begin in the payloads.
struct GroupPlace {
  std::uint64_t lengths;         ///< a bit of all words
  std::uint32_t bases, counts;  ///< bits from there on
};

/// Writes strings, and owns the memory for it.
template <class Key>
class StringPayload {
 public:
  /// Enqueues the ordering of strings and the writing of their payloads to `words`, which have room for those
  /// of all shards that `groups` has measured, one behind the other, and may have any contents.
  void write(const GroupedStrings<Key>& grouped, const StringGroups<Key>& groups, unsigned long long* words,
             cudaStream_t stream);

 private:
  StringOrder<Key> order_;
  DeviceArray<GroupPlace> places_;
};

}  // namespace warpmer::gpu
