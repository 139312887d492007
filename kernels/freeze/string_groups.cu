#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cub/block/block_reduce.cuh>
#include <cub/device/device_scan.cuh>

#include "kernels/freeze/string_groups.cuh"
#include "kernels/memory/small_copy.cuh"

namespace warpmer::gpu {

namespace {

constexpr std::uint32_t kGroupThreads = 256;
constexpr std::uint32_t kRecordBlocks = 264;

std::uint32_t blocks(std::uint64_t n) { return static_cast<std::uint32_t>(n / kGroupThreads + 1); }

struct IsFirst {
  __device__ std::uint32_t operator()(const StringTail& tail) const { return tail.is_first; }
};

/// Says for each number whether it is that of a large group.
struct IsLarge {
  const std::uint32_t* group_begins;
  const std::uint32_t* groups_up_to;
  std::uint32_t strings;
  __device__ std::uint32_t operator()(std::uint32_t group) const {
    return group < groups_up_to[strings - 1] &&
                   group_begins[group + 1] - group_begins[group] > groups::kMostInlineStrings
               ? 1
               : 0;
  }
};

template <class Key>
__global__ void begin_groups(const __grid_constant__ GroupedStrings<Key> grouped,
                             std::uint32_t* group_begins) {
  const std::uint32_t s = blockIdx.x * kGroupThreads + threadIdx.x, n = grouped.strings.size;
  if (s >= n) return;
  if (grouped.strings.tails[s].is_first != 0) group_begins[grouped.group_of(s)] = s;
  if (s == n - 1) group_begins[grouped.groups_up_to[s]] = n;
}

/// Finds the groups of each shard, and the large ones.
template <class Key>
__global__ void begin_shards(const __grid_constant__ GroupedStrings<Key> grouped, std::uint32_t* shard_groups,
                             std::uint32_t* large_groups, std::uint32_t* saved_strings) {
  const DeviceStrings<Key>& strings = grouped.strings;
  const std::uint32_t first = blockIdx.x * kGroupThreads, group = first + threadIdx.x;
  const std::uint32_t groups = grouped.groups_up_to[strings.size - 1];
  if (group >= groups) return;
  const std::uint32_t shard = grouped.shard_of(first, group), shards = grouped.shards();
  const bool is_first = group == 0 || grouped.head_of(group - 1) < strings.kmers.shard_begins[shard];
  if (is_first) {
    const std::uint32_t begin = group == 0 ? 0 : grouped.shard_of(group - 1) + 1;
    for (std::uint32_t i = begin; i <= shard; ++i) shard_groups[i] = group;
  }
  if (group == groups - 1) {
    for (std::uint32_t i = shard + 1; i <= shards; ++i) shard_groups[i] = groups;
  }
  if (!grouped.is_large(group)) return;
  const std::uint32_t n = grouped.strings_of(group);
  large_groups[grouped.large_before[group]] = group;
  atomicAdd(saved_strings + shard, n - 1);
  atomicMax(saved_strings + shards, n);
}

template <class Key>
__global__ void size_shards(const __grid_constant__ GroupedStrings<Key> grouped, const std::uint32_t* saved,
                            groups::ShardSizes* sizes, groups::ShardLayout* layouts,
                            std::uint32_t* shard_parts) {
  const std::uint32_t shard = blockIdx.x * kGroupThreads + threadIdx.x, shards = grouped.shards();
  if (shard == shards) shard_parts[shard] = 0;
  if (shard >= shards) return;
  const std::uint32_t first = grouped.shard_groups[shard], end = grouped.shard_groups[shard + 1];
  const std::uint32_t* kmers = grouped.strings.kmers.shard_begins;
  const groups::GroupShape& shape = grouped.strings.kmers.keys.shape();
  groups::ShardSizes size{};
  size.kmers = kmers[shard + 1] - kmers[shard];
  size.groups = end - first;
  size.large_groups = grouped.large_before[end] - grouped.large_before[first];
  size.buckets = groups::buckets_for(grouped.group_begins[end] - grouped.group_begins[first] - saved[shard],
                                     shape.rest_bits());
  sizes[shard] = size;
  layouts[shard] = groups::ShardLayout(shape, size);
  shard_parts[shard] = static_cast<std::uint32_t>(size.buckets + size.large_groups);
}

/// Finds the groups of each bucket.
template <class Key>
__global__ void begin_buckets(const __grid_constant__ GroupedStrings<Key> grouped,
                              std::uint32_t* part_groups) {
  const std::uint32_t first = blockIdx.x * kGroupThreads, group = first + threadIdx.x;
  if (group >= grouped.groups()) return;
  const std::uint32_t shard = grouped.shard_of(first, group), part = grouped.part_of(group, shard);
  const std::uint32_t begin = group == grouped.shard_groups[shard] ? grouped.shard_parts[shard]
                                                                   : grouped.part_of(group - 1, shard) + 1;
  for (std::uint32_t i = begin; i <= part; ++i) part_groups[i] = group;
  if (group + 1 != grouped.shard_groups[shard + 1]) return;
  const std::uint32_t end =
      grouped.shard_parts[shard] + static_cast<std::uint32_t>(grouped.layouts[shard].buckets);
  for (std::uint32_t i = part + 1; i <= end; ++i) part_groups[i] = group + 1;
}

template <class Key>
__global__ void measure_buckets(const __grid_constant__ GroupedStrings<Key> grouped,
                                std::uint64_t* part_bits) {
  const std::uint32_t first = blockIdx.x * kGroupThreads, part = first + threadIdx.x;
  if (part >= grouped.parts()) return;
  const std::uint32_t shard = last_not_above(grouped.shard_parts, grouped.shards(), first, part);
  const groups::ShardLayout& layout = grouped.layouts[shard];
  if (part - grouped.shard_parts[shard] >= layout.buckets) return;  // a record
  std::uint64_t bits = 0, strings = 0;
  for (std::uint32_t group = grouped.part_groups[part]; group < grouped.part_groups[part + 1]; ++group) {
    bits += layout.remainder_bits;
    if (grouped.is_large(group)) {
      ++strings;
      bits += layout.large_bits;
      continue;
    }
    const std::uint32_t begin = grouped.group_begins[group], end = grouped.group_begins[group + 1];
    strings += end - begin;
    for (std::uint32_t s = begin; s < end; ++s)
      bits += grouped.strings.base_bits(s) + grouped.strings.count_bits(s);
  }
  part_bits[part] = bits + groups::gamma_bits(strings + 1) + strings * (1 + layout.length_bits);
}

/// Adds up the strings of large groups. A block takes one group at a time.
template <class Key>
__global__ __launch_bounds__(kGroupThreads) void add_up_records(
    const __grid_constant__ GroupedStrings<Key> grouped, RecordSums* records) {
  using Reduce = cub::BlockReduce<std::uint64_t, kGroupThreads>;
  __shared__ typename Reduce::TempStorage memory;
  const std::uint32_t n = grouped.strings.kmers.flank_bases();
  for (std::uint32_t number = blockIdx.x; number < grouped.large(); number += gridDim.x) {
    const std::uint32_t group = grouped.large_groups[number], end = grouped.group_begins[group + 1];
    RecordSums sums{};
    for (std::uint32_t s = grouped.group_begins[group] + threadIdx.x; s < end; s += kGroupThreads) {
      sums.kmers += grouped.strings.tails[s].kmers;
      sums.count_bits += grouped.strings.count_bits(s);
      sums.largest = max(sums.largest, grouped.strings.largest_count(s));
    }
    sums.kmers = Reduce(memory).Sum(sums.kmers);
    __syncthreads();
    sums.count_bits = Reduce(memory).Sum(sums.count_bits);
    __syncthreads();
    sums.largest =
        Reduce(memory).Reduce(sums.largest, [](std::uint64_t a, std::uint64_t b) { return max(a, b); });
    __syncthreads();
    sums.bases = sums.kmers + grouped.strings_of(group) * std::uint64_t{n - 1};
    if (threadIdx.x == 0) records[number] = sums;
  }
}

/// Numbers the large groups of each shard, and measures their records, which have that order: it is that of
/// buckets, and in a bucket that of place_groups, in string_payload.cu.
template <class Key>
__global__ void measure_records(const __grid_constant__ GroupedStrings<Key> grouped,
                                std::uint32_t* large_numbers, std::uint64_t* part_bits) {
  const std::uint32_t i = blockIdx.x * kGroupThreads + threadIdx.x;
  if (i >= grouped.large()) return;
  const std::uint32_t group = grouped.large_groups[i], shard = grouped.shard_of(group);
  const std::uint32_t part = grouped.part_of(group, shard);
  const std::uint32_t begin = grouped.large_before[grouped.part_groups[part]],
                      end = grouped.large_before[grouped.part_groups[part + 1]];
  const RecordSums& sums = grouped.records[i];
  std::uint32_t number = begin - grouped.large_before[grouped.shard_groups[shard]];
  for (std::uint32_t other = begin; other < end; ++other) {
    const std::uint64_t largest = grouped.records[other].largest;
    number += largest > sums.largest || (largest == sums.largest && other < i) ? 1 : 0;
  }
  large_numbers[i] = number;
  const std::uint64_t strings = grouped.strings_of(group);
  const std::uint64_t marks = (strings + groups::kStringsPerMark - 1) / groups::kStringsPerMark;
  part_bits[grouped.shard_parts[shard] + grouped.layouts[shard].buckets + number] =
      groups::gamma_bits(strings) + groups::gamma_bits(sums.kmers) + groups::gamma_bits(sums.count_bits) +
      strings * grouped.layouts[shard].length_bits +
      marks * (groups::bits_of(sums.bases) + groups::bits_of(sums.count_bits)) + 2 * sums.bases +
      sums.count_bits + std::uint64_t{grouped.strings.kmers.flank_bases() + 2} * groups::bits_of(sums.kmers) +
      sums.kmers * groups::bits_of(strings - 1);
}

/// Lays shards out, now that it is known where their parts end.
template <class Key>
__global__ void lay_shards_out(const __grid_constant__ GroupedStrings<Key> grouped, groups::ShardSizes* sizes,
                               groups::ShardLayout* layouts, std::uint64_t* words) {
  const std::uint32_t shard = blockIdx.x * kGroupThreads + threadIdx.x;
  if (shard == grouped.shards()) words[shard] = 0;
  if (shard >= grouped.shards()) return;
  groups::ShardSizes size = sizes[shard];
  if (size.buckets > 0) {
    const std::uint64_t bits =
        grouped.part_begins[grouped.shard_parts[shard + 1]] - grouped.part_begins[grouped.shard_parts[shard]];
    size.offset_bits = groups::bits_of(bits);
    const groups::ShardLayout layout(grouped.strings.kmers.keys.shape(), size);
    size.words = (layout.strings_at + bits + 63) / 64;
    layouts[shard] = layout;
    sizes[shard] = size;
  }
  words[shard] = size.words;
}

}  // namespace

template <class Key>
void StringGroups<Key>::take_room(const DeviceStrings<Key>& strings, cudaStream_t stream) {
  const std::uint32_t n = strings.size, shards = strings.kmers.shards;
  const std::uint32_t most_large = n / (groups::kMostInlineStrings + 1) + 1;
  most_parts_ = n / groups::kStringsPerBucket + most_large + shards;
  make_room(group_begins_, n + 1, stream);
  make_room(large_before_, n + 1, stream);
  make_room(large_groups_, most_large, stream);
  make_room(large_numbers_, most_large, stream);
  make_room(records_, most_large, stream);
  make_room(shard_groups_, shards + 1, stream);
  make_room(shard_parts_, shards + 1, stream);
  make_room(saved_strings_, shards + 1, stream);
  make_room(part_groups_, most_parts_ + 1, stream);
  make_room(part_begins_, most_parts_ + 1, stream);
  make_room(first_words_, shards + 1, stream);
  make_room(shard_sizes_, shards, stream);
  make_room(layouts_, shards, stream);
  host_sizes_.reserve(shards);
}

/// Finds the groups, those of each shard, and those of each bucket.
template <class Key>
void StringGroups<Key>::divide(const GroupedStrings<Key>& grouped, std::uint32_t* groups_up_to,
                               cudaStream_t stream) {
  const std::uint32_t n = grouped.strings.size, shards = grouped.strings.kmers.shards;
  scan_memory_.run("numbering groups", stream, [&](void* memory, std::size_t& bytes, cudaStream_t in) {
    return cub::DeviceScan::InclusiveSum(memory, bytes,
                                         thrust::make_transform_iterator(grouped.strings.tails, IsFirst{}),
                                         groups_up_to, n, in);
  });
  begin_groups<Key>
      <<<blocks(n), kGroupThreads, 0, DriverLock::Shared(stream)>>>(grouped, group_begins_.data());
  const IsLarge is_large{group_begins_.data(), groups_up_to, n};
  scan_memory_.run("numbering large groups", stream, [&](void* memory, std::size_t& bytes, cudaStream_t in) {
    return cub::DeviceScan::ExclusiveSum(
        memory, bytes, thrust::make_transform_iterator(thrust::counting_iterator<std::uint32_t>(0), is_large),
        large_before_.data(), n + 1, in);
  });
  fill_bytes(saved_strings_.data(), 0, shards + 1, stream);
  begin_shards<Key><<<blocks(n), kGroupThreads, 0, DriverLock::Shared(stream)>>>(
      grouped, shard_groups_.data(), large_groups_.data(), saved_strings_.data());
  size_shards<Key><<<blocks(shards), kGroupThreads, 0, DriverLock::Shared(stream)>>>(
      grouped, saved_strings_.data(), shard_sizes_.data(), layouts_.data(), shard_parts_.data());
  scan_memory_.run("numbering buckets", stream, [&](void* memory, std::size_t& bytes, cudaStream_t in) {
    return cub::DeviceScan::ExclusiveSum(memory, bytes, shard_parts_.data(), shard_parts_.data(), shards + 1,
                                         in);
  });
  begin_buckets<Key>
      <<<blocks(n), kGroupThreads, 0, DriverLock::Shared(stream)>>>(grouped, part_groups_.data());
  check_launch("dividing strings");
}

/// Adds up the bits of buckets, records and shards.
template <class Key>
void StringGroups<Key>::add_up(const GroupedStrings<Key>& grouped, cudaStream_t stream) {
  const std::uint32_t shards = grouped.strings.kmers.shards;
  fill_bytes(part_begins_.data(), 0, most_parts_ + 1, stream);
  measure_buckets<Key>
      <<<blocks(most_parts_), kGroupThreads, 0, DriverLock::Shared(stream)>>>(grouped, part_begins_.data());
  add_up_records<Key>
      <<<kRecordBlocks, kGroupThreads, 0, DriverLock::Shared(stream)>>>(grouped, records_.data());
  measure_records<Key><<<blocks(large_groups_.size()), kGroupThreads, 0, DriverLock::Shared(stream)>>>(
      grouped, large_numbers_.data(), part_begins_.data());
  scan_memory_.run("adding up buckets", stream, [&](void* memory, std::size_t& bytes, cudaStream_t in) {
    return cub::DeviceScan::ExclusiveSum(memory, bytes, part_begins_.data(), part_begins_.data(),
                                         most_parts_ + 1, in);
  });
  lay_shards_out<Key><<<blocks(shards), kGroupThreads, 0, DriverLock::Shared(stream)>>>(
      grouped, shard_sizes_.data(), layouts_.data(), first_words_.data());
  scan_memory_.run("adding up shards", stream, [&](void* memory, std::size_t& bytes, cudaStream_t in) {
    return cub::DeviceScan::ExclusiveSum(memory, bytes, first_words_.data(), first_words_.data(), shards + 1,
                                         in);
  });
  check_launch("measuring strings");
}

template <class Key>
GroupedStrings<Key> StringGroups<Key>::measure(const DeviceStrings<Key>& strings, std::uint32_t* groups_up_to,
                                               cudaStream_t stream) {
  const std::uint32_t shards = strings.kmers.shards;
  sizes_.assign(shards, {});
  most_strings_ = 0;
  if (strings.size == 0) return {strings};
  take_room(strings, stream);
  GroupedStrings<Key> grouped{strings,
                              groups_up_to,
                              group_begins_.data(),
                              large_before_.data(),
                              large_groups_.data(),
                              large_numbers_.data(),
                              shard_groups_.data(),
                              shard_parts_.data(),
                              part_groups_.data(),
                              part_begins_.data(),
                              records_.data(),
                              shard_sizes_.data(),
                              layouts_.data(),
                              first_words_.data(),
                              most_parts_};
  divide(grouped, groups_up_to, stream);
  add_up(grouped, stream);
  copy_small(host_sizes_.data(), shard_sizes_.data(), shards, stream);
  copy_small(host_most_.data(), saved_strings_.data() + shards, 1, stream);
  check(cudaStreamSynchronize(stream), "measuring strings");
  std::copy_n(host_sizes_.data(), shards, sizes_.begin());
  most_strings_ = host_most_[0];
  return grouped;
}

template class StringGroups<Key64>;
template class StringGroups<Key128>;

}  // namespace warpmer::gpu
