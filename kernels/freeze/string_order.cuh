#pragma once
/// The order of strings in their groups.

#include <cstdint>

#include "kernels/freeze/string_groups.cuh"

namespace warpmer::gpu {

/// Orders, and owns the memory for it.
template <class Key>
class StringOrder {
 public:
  /// Enqueues the ordering. Returns the strings of each group, from `group_begins` on. No group has more than
  /// `most_strings` strings.
  const std::uint32_t* order(const GroupedStrings<Key>& grouped, std::uint32_t most_strings,
                             cudaStream_t stream);

 private:
  DeviceArray<std::uint32_t> strings_[2];
};

}  // namespace warpmer::gpu
