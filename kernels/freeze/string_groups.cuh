#pragma once
/// Strings by group, groups by bucket, and how many bits all of it takes: what has to be known of shards
/// before they are written.

#include <cstdint>
#include <vector>

#include "groups/shard_layout.h"
#include "kernels/freeze/kmer_strings.cuh"
#include "kernels/warps/sorted_search.cuh"

namespace warpmer::gpu {

/// The sums that the record of a large group begins with, and its largest count.
struct RecordSums {
  std::uint64_t kmers, bases, count_bits, largest;
};

/// The strings of consecutive shards, and where everything goes. A part is a bucket or the record of a large
/// group; those of a shard follow each other as in its payload. All lists of begins have the end behind them.
template <class Key>
struct GroupedStrings {
  DeviceStrings<Key> strings;
  const std::uint32_t* groups_up_to;  ///< for each string, how many groups begin with it or before it
  const std::uint32_t* group_begins;  ///< for each group, its first string
  const std::uint32_t* large_before;  ///< for each group, how many large ones there are before it
  const std::uint32_t* large_groups;  ///< the large ones
  const std::uint32_t*
      large_numbers;  ///< the numbers of these in their shards, where the order is that of groups in buckets
  const std::uint32_t* shard_groups;  ///< for each shard, its first group
  const std::uint32_t* shard_parts;   ///< for each shard, its first part
  const std::uint32_t*
      part_groups;  ///< for each bucket, its first group; for what is behind buckets, its end
  const std::uint64_t* part_begins;    ///< for each part, its first bit, if all followed each other
  const RecordSums* records;           ///< for each large group
  const groups::ShardSizes* sizes;     ///< for each shard
  const groups::ShardLayout* layouts;  ///< for each shard
  const std::uint64_t* first_words;    ///< for each shard, where its payload begins
  std::uint32_t most_parts;            ///< at least as many as parts

  [[nodiscard]] __device__ std::uint32_t shards() const { return strings.kmers.shards; }
  [[nodiscard]] __device__ std::uint32_t groups() const { return shard_groups[shards()]; }
  [[nodiscard]] __device__ std::uint32_t parts() const { return shard_parts[shards()]; }
  [[nodiscard]] __device__ std::uint32_t large() const { return large_before[groups()]; }
  [[nodiscard]] __device__ std::uint32_t group_of(std::uint32_t string) const {
    return groups_up_to[string] - 1;
  }
  [[nodiscard]] __device__ std::uint32_t strings_of(std::uint32_t group) const {
    return group_begins[group + 1] - group_begins[group];
  }
  [[nodiscard]] __device__ bool is_large(std::uint32_t group) const {
    return strings_of(group) > groups::kMostInlineStrings;
  }
  [[nodiscard]] __device__ std::uint32_t head_of(std::uint32_t group) const {
    return strings.heads[group_begins[group]];
  }
  /// Returns a group's id below the shard's number.
  [[nodiscard]] __device__ std::uint32_t rest_of(std::uint32_t group) const {
    return strings.kmers.keys.rest(strings.kmers.key[head_of(group)]);
  }
  [[nodiscard]] __device__ std::uint32_t shard_of(std::uint32_t group) const {
    return last_not_above(strings.kmers.shard_begins, shards(), head_of(group));
  }
  /// Does the same for a block's threads, whose groups begin with `first`.
  [[nodiscard]] __device__ std::uint32_t shard_of(std::uint32_t first, std::uint32_t group) const {
    return last_not_above(strings.kmers.shard_begins, shards(), head_of(first), head_of(group));
  }
  /// Returns the part that a group's bucket is.
  [[nodiscard]] __device__ std::uint32_t part_of(std::uint32_t group, std::uint32_t shard) const {
    return shard_parts[shard] + static_cast<std::uint32_t>(layouts[shard].bucket_of(rest_of(group)));
  }
  /// Returns the number of a large group in its shard.
  [[nodiscard]] __device__ std::uint32_t large_number(std::uint32_t group) const {
    return large_numbers[large_before[group]];
  }
  [[nodiscard]] __device__ std::uint32_t record_part(std::uint32_t group, std::uint32_t shard) const {
    return shard_parts[shard] + static_cast<std::uint32_t>(layouts[shard].buckets) + large_number(group);
  }
};

/// Measures shards, and owns the memory for it.
template <class Key>
class StringGroups {
 public:
  /// Enqueues the work, and waits until the sizes are known. Groups are valid until the next call.
  /// `groups_up_to` is room for numbers of strings.
  GroupedStrings<Key> measure(const DeviceStrings<Key>& strings, std::uint32_t* groups_up_to,
                              cudaStream_t stream);

  /// Return, of what was measured last: the sizes of each shard, and the strings of the largest group.
  [[nodiscard]] const std::vector<groups::ShardSizes>& sizes() const { return sizes_; }
  [[nodiscard]] std::uint32_t most_strings() const { return most_strings_; }

 private:
  void take_room(const DeviceStrings<Key>& strings, cudaStream_t stream);
  void divide(const GroupedStrings<Key>& grouped, std::uint32_t* groups_up_to, cudaStream_t stream);
  void add_up(const GroupedStrings<Key>& grouped, cudaStream_t stream);

  std::vector<groups::ShardSizes> sizes_;
  std::uint32_t most_strings_ = 0;
  std::uint32_t most_parts_ = 0;
  DeviceArray<std::uint32_t> group_begins_, large_before_, large_groups_, large_numbers_;
  DeviceArray<std::uint32_t> shard_groups_, shard_parts_, part_groups_;
  DeviceArray<std::uint32_t> saved_strings_;  ///< for each shard, by taking large groups as one string; and
                                              ///< behind them the strings of the largest group
  DeviceArray<std::uint64_t> part_begins_, first_words_;
  DeviceArray<RecordSums> records_;
  DeviceArray<groups::ShardSizes> shard_sizes_;
  DeviceArray<groups::ShardLayout> layouts_;
  PinnedArray<groups::ShardSizes> host_sizes_;
  PinnedArray<std::uint32_t> host_most_{1};
  ScanMemory scan_memory_;
};

}  // namespace warpmer::gpu
