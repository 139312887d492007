#pragma once
/// The order of strings in their groups, and of groups in their buckets.

#include <cstdint>

#include "kernels/freeze/string_groups.cuh"

namespace warpmer::gpu {

/// Orders, and owns the memory for it.
template <class Key>
class StringOrder {
 public:
  struct OrderedStrings {
    const std::uint32_t* strings;  ///< the strings of each group from `group_begins` on
    const std::uint32_t* groups;   ///< the groups of each bucket from `part_groups` on
  };
  /// Enqueues the ordering. No group has more than `most_strings` strings.
  OrderedStrings order(const GroupedStrings<Key>& grouped, std::uint32_t most_strings, cudaStream_t stream);

 private:
  DeviceArray<std::uint32_t> strings_[2];
  DeviceArray<std::uint32_t> groups_;
};

}  // namespace warpmer::gpu
