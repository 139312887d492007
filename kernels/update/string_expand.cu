// Shards are divided into parts, equal ranges of groups, each of which is put in order at once afterwards. A
// thread takes a bucket: first it adds up the k-mers of each part, then it unpacks them to where those of the
// part are. Strings of large groups, which have records of their own, are shared out among a block.

#include <cub/device/device_scan.cuh>

#include "base/error.h"
#include "groups/string_walk.h"
#include "kernels/memory/persistent_grid.cuh"
#include "kernels/memory/small_copy.cuh"
#include "kernels/update/string_expand.cuh"
#include "kernels/upload/frozen_shards.cuh"
#include "kernels/warps/sorted_search.cuh"

namespace warpmer::gpu {

namespace {

constexpr std::uint32_t kExpandThreads = 128;
/// Bins of a part: one for each input, and one that stays empty.
constexpr std::uint32_t kBinsPerPart = 4;
static_assert(kBinsPerPart >= kMergeInputs);

template <class Key>
struct ExpandTask {
  groups::GroupKeys<Key, Key> keys;
  const groups::ShardBits* bits;
  const std::uint32_t* bucket_begins;
  const std::uint32_t* record_begins;
  std::uint32_t inputs, buckets, records;
  std::uint32_t part_bits;      ///< a shard has 2^part_bits parts
  std::uint32_t* record_rests;  ///< for each record, its group's id below the shard's number
  std::uint32_t* sizes;         ///< of bins
  const std::uint64_t* begins;
  Key* out_keys;
  std::uint32_t* numbers;
  std::uint64_t* counts;

  [[nodiscard]] __device__ std::uint32_t bin_of(std::uint32_t input, std::uint32_t rest) const {
    const std::uint32_t part = rest >> (keys.shape().rest_bits() - part_bits);
    return ((input / kMergeInputs << part_bits) + part) * kBinsPerPart + input % kMergeInputs;
  }
  /// Unpacks a string of a group to where its bin has room.
  __device__ void put(const groups::ShardBits& shard, std::uint32_t input, std::uint32_t rest,
                      groups::FlankLengths lengths, groups::BitCursor bases,
                      const groups::StringCounts& string_counts) const {
    const std::uint32_t bin = bin_of(input, rest);
    auto at = static_cast<std::uint32_t>(begins[bin]) + atomicAdd(sizes + bin, shard.kmers(lengths));
    groups::for_each_kmer_of_string<Key>(shard, lengths, bases, string_counts,
                                         [&](std::uint32_t layer, Key flanks, std::uint64_t count) {
                                           out_keys[at] = keys.pack(rest, layer, flanks);
                                           numbers[at] = (input % kMergeInputs) << kInputBit | at;
                                           counts[at] = count;
                                           ++at;
                                         });
  }
};

/// Adds up k-mers by bin. A bucket's are nearly always of one bin.
class BinSum {
 public:
  __device__ explicit BinSum(std::uint32_t* sizes) : sizes_(sizes) {}
  __device__ void add(std::uint32_t bin, std::uint32_t kmers) {
    if (bin != bin_) finish();
    bin_ = bin;
    sum_ += kmers;
  }
  __device__ void finish() {
    if (sum_ > 0) atomicAdd(sizes_ + bin_, sum_);
    sum_ = 0;
  }

 private:
  std::uint32_t* sizes_;
  std::uint32_t bin_ = 0, sum_ = 0;
};

template <class Key>
__global__ __launch_bounds__(kExpandThreads) void measure_inputs(
    const __grid_constant__ ExpandTask<Key> task) {
  const std::uint32_t first = blockIdx.x * kExpandThreads, number = first + threadIdx.x;
  if (number >= task.buckets) return;
  const std::uint32_t input = last_not_above(task.bucket_begins, task.inputs, first, number);
  const groups::ShardBits& shard = task.bits[input];
  BinSum sum(task.sizes);
  groups::for_each_string_of_bucket(
      shard, number - task.bucket_begins[input],
      [&](std::uint32_t rest, groups::FlankLengths lengths, groups::BitCursor, const groups::StringCounts&) {
        sum.add(task.bin_of(input, rest), shard.kmers(lengths));
      },
      [&](std::uint32_t rest, std::uint32_t record) {
        task.record_rests[task.record_begins[input] + record] = rest;
        const groups::LargeGroup group(shard, shard.part(shard.layout.buckets + record));
        sum.add(task.bin_of(input, rest), static_cast<std::uint32_t>(group.kmers));
      });
  sum.finish();
}

template <class Key>
__global__ __launch_bounds__(kExpandThreads) void expand_buckets(
    const __grid_constant__ ExpandTask<Key> task) {
  const std::uint32_t first = blockIdx.x * kExpandThreads, number = first + threadIdx.x;
  if (number >= task.buckets) return;
  const std::uint32_t input = last_not_above(task.bucket_begins, task.inputs, first, number);
  const groups::ShardBits& shard = task.bits[input];
  groups::for_each_string_of_bucket(
      shard, number - task.bucket_begins[input],
      [&](std::uint32_t rest, groups::FlankLengths lengths, groups::BitCursor bases,
          const groups::StringCounts& counts) { task.put(shard, input, rest, lengths, bases, counts); },
      [](std::uint32_t, std::uint32_t) {});
}

/// A row of blocks takes a record.
template <class Key>
__global__ __launch_bounds__(kExpandThreads) void expand_records(
    const __grid_constant__ ExpandTask<Key> task) {
  const std::uint32_t number = blockIdx.x;
  const std::uint32_t input = last_not_above(task.record_begins, task.inputs, number);
  const groups::ShardBits& shard = task.bits[input];
  const groups::LargeGroup group(shard,
                                 shard.part(shard.layout.buckets + (number - task.record_begins[input])));
  const std::uint32_t rest = task.record_rests[number], stride = gridDim.y * kExpandThreads;
  const auto marks = static_cast<std::uint32_t>(groups::marks_of(group));
  for (std::uint32_t mark = blockIdx.y * kExpandThreads + threadIdx.x; mark < marks; mark += stride) {
    groups::for_each_string_of_mark(
        shard, group, mark,
        [&](groups::FlankLengths lengths, groups::BitCursor bases, const groups::StringCounts& counts) {
          task.put(shard, input, rest, lengths, bases, counts);
        });
  }
}

/// Returns the bits by which shards are divided: a part is put in order at once if it has few enough k-mers.
std::uint32_t part_bits_for(std::uint64_t kmers, std::uint32_t shards, std::uint32_t rest_bits,
                            std::uint64_t part_kmers) {
  std::uint32_t bits = 0;
  while (bits < rest_bits && kmers > (std::uint64_t{shards} << bits) * part_kmers) ++bits;
  return bits;
}

}  // namespace

MergeShards::MergeShards(std::uint32_t k, std::uint32_t most_shards)
    : shape_(k),
      lengths_(length_table_on_device(k)),
      bits_(std::size_t{most_shards} * kMergeInputs),
      bucket_begins_(std::size_t{most_shards} * kMergeInputs + 1),
      record_begins_(std::size_t{most_shards} * kMergeInputs + 1) {}

void MergeShards::add(const StringShard& was, const StringShard& added, const StringShard& removed) {
  if (shards_ == 0) kmers_ = bucket_begins_[0] = record_begins_[0] = 0;
  std::size_t at = std::size_t{shards_} * kMergeInputs;
  for (const StringShard* shard : {&was, &added, &removed}) {  // in the order of MergeInput
    const groups::ShardSizes& sizes = shard->sizes;
    bits_[at] = groups::ShardBits(shape_, sizes, shard->payload, lengths_.data());
    bucket_begins_[at + 1] = bucket_begins_[at] + static_cast<std::uint32_t>(sizes.buckets);
    record_begins_[at + 1] = record_begins_[at] + static_cast<std::uint32_t>(sizes.large_groups);
    kmers_ += sizes.kmers;
    ++at;
  }
  ++shards_;
}

template <class Key>
StringExpander<Key>::StringExpander(std::uint32_t k, std::uint32_t most_shards)
    : keys_(k),
      bits_(std::size_t{most_shards} * kMergeInputs),
      bucket_begins_(std::size_t{most_shards} * kMergeInputs + 1),
      record_begins_(std::size_t{most_shards} * kMergeInputs + 1) {}

template <class Key>
CountedShards<Key> StringExpander<Key>::expand(const MergeShards& shards, cudaStream_t stream) {
  if (shards.kmers() >= kMostExpanded) throw InternalError("too many k-mers are expanded at once");
  const std::uint32_t part_bits =
      part_bits_for(shards.kmers(), shards.shards(), keys_.shape().rest_bits(), kPartKmers);
  const std::size_t bins = (std::size_t{shards.shards()} << part_bits) * kBinsPerPart;
  make_room(record_rests_, shards.records(), stream);
  make_room(sizes_, bins, stream);
  make_room(begins_, bins, stream);
  make_room(out_keys_, shards.kmers(), stream);
  make_room(numbers_, shards.kmers(), stream);
  make_room(counts_, shards.kmers(), stream);
  copy_small(bits_.data(), shards.bits(), shards.inputs(), stream);
  copy_small(bucket_begins_.data(), shards.bucket_begins(), shards.inputs() + 1, stream);
  copy_small(record_begins_.data(), shards.record_begins(), shards.inputs() + 1, stream);
  const ExpandTask<Key> task{keys_,
                             bits_.data(),
                             bucket_begins_.data(),
                             record_begins_.data(),
                             shards.inputs(),
                             shards.buckets(),
                             shards.records(),
                             part_bits,
                             record_rests_.data(),
                             sizes_.data(),
                             begins_.data(),
                             out_keys_.data(),
                             numbers_.data(),
                             counts_.data()};
  fill_bytes(sizes_.data(), 0, bins, stream);
  const std::uint32_t blocks = blocks_of(shards.buckets(), kExpandThreads);
  if (blocks > 0) measure_inputs<Key><<<blocks, kExpandThreads, 0, DriverLock::Shared(stream)>>>(task);
  scan_memory_.run("adding up parts of shards", stream,
                   [&](void* memory, std::size_t& bytes, cudaStream_t in) {
                     return cub::DeviceScan::ExclusiveSum(memory, bytes, sizes_.data(), begins_.data(),
                                                          static_cast<std::int64_t>(bins), in);
                   });
  fill_bytes(sizes_.data(), 0, bins, stream);
  if (blocks > 0) expand_buckets<Key><<<blocks, kExpandThreads, 0, DriverLock::Shared(stream)>>>(task);
  if (shards.records() > 0) {
    constexpr std::uint32_t kRowsOfFew = 16;  // a record may have nearly all k-mers
    const dim3 grid(shards.records(), shards.records() < kRowsOfFew ? 64 : 1);
    expand_records<Key><<<grid, kExpandThreads, 0, DriverLock::Shared(stream)>>>(task);
  }
  check_launch("unpacking strings");
  CountedShards<Key> expanded{};
  expanded.counted = {out_keys_.data(), numbers_.data(), 0, begins_.data(), sizes_.data(), {}};
  expanded.first_shard = 0;
  expanded.shards = shards.shards();
  expanded.bins_per_shard = kBinsPerPart << part_bits;
  expanded.bins_are_ordered = true;
  expanded.entries = shards.kmers();
  expanded.bins_per_part = kBinsPerPart;
  return expanded;
}

template class StringExpander<Key64>;
template class StringExpander<Key128>;

}  // namespace warpmer::gpu
