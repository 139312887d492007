// A thread places a group in its bucket, and writes what is short there; then a thread writes each string. A
// block writes the record of a large group: the begins of its fields are known from sums, so that
// each thread writes those of its strings, and each string its number where its k-mers stand.

#include <cub/block/block_scan.cuh>

#include "base/error.h"
#include "kernels/freeze/bit_appender.cuh"
#include "kernels/freeze/string_payload.cuh"
#include "kernels/warps/sorted_search.cuh"

namespace warpmer::gpu {

namespace {

constexpr std::uint32_t kWriteThreads = 128, kRecordThreads = 256;

/// Shards and their strings in order, and the memory of their payloads.
template <class Key>
struct PayloadTask {
  GroupedStrings<Key> grouped;
  const std::uint32_t* order;  ///< of the strings of each group
  GroupFields* places;         ///< for each group
  unsigned long long* words;

  /// Returns the bit of `words` where a shard's part begins.
  [[nodiscard]] __device__ std::uint64_t begin_of(std::uint32_t shard, std::uint32_t part) const {
    return 64 * grouped.first_words[shard] + grouped.layouts[shard].strings_at + grouped.part_begins[part] -
           grouped.part_begins[grouped.shard_parts[shard]];
  }
};

template <class Key>
__global__ void write_offsets(const __grid_constant__ PayloadTask<Key> task) {
  const GroupedStrings<Key>& grouped = task.grouped;
  const std::uint32_t first = blockIdx.x * kWriteThreads, part = first + threadIdx.x;
  if (part >= grouped.parts()) return;
  const std::uint32_t shard = last_not_above(grouped.shard_parts, grouped.shards(), first, part);
  const std::uint32_t begin = grouped.shard_parts[shard], bits = grouped.layouts[shard].offset_bits;
  // The first offset is zero, and the words are, too.
  or_device(task.words + grouped.first_words[shard], std::uint64_t{part + 1 - begin} * bits,
            grouped.part_begins[part + 1] - grouped.part_begins[begin]);
  // An empty bucket has no group that would write its number of strings.
  const bool is_empty = part - begin < grouped.layouts[shard].buckets &&
                        grouped.part_groups[part] == grouped.part_groups[part + 1];
  if (is_empty) or_device(task.words, task.begin_of(shard, part), std::uint64_t{1});
}

template <class Key>
__device__ void write_bases(const DeviceStrings<Key>& strings, std::uint32_t s, BitAppender& out) {
  const StringEnds<Key> ends = strings.ends(s);
  out.write_wide(ends.left, 2 * ends.left_bases);
  out.write_wide(ends.right, 2 * ends.right_bases);
}

template <class Key>
__device__ void write_counts(const DeviceStrings<Key>& strings, std::uint32_t s, BitAppender& out) {
  const std::uint32_t spread = strings.tails[s].spread_bits;
  const std::uint64_t smallest = strings.smallest_count(s);
  out.write_gamma(spread + 1);
  out.write_gamma(smallest);
  if (spread == 0) return;
  strings.for_each_kmer(s, [&](std::uint32_t i) { out.write(strings.kmers.count(i) - smallest, spread); });
}

template <class Key>
__device__ std::uint32_t lengths_of(const DeviceStrings<Key>& strings, std::uint32_t s) {
  return groups::StringLengths::code(strings.left_bases(s), strings.tails[s].kmers);
}

/// A group beside the others of its bucket. Bits are those of its strings' bases and counts in the bucket; a
/// large group has one string there, whose bases are its number.
struct GroupSums {
  std::uint32_t groups = 0, strings = 0, base_bits = 0, count_bits = 0;

  __device__ void add(const GroupSums& more) {
    groups += more.groups;
    strings += more.strings;
    base_bits += more.base_bits;
    count_bits += more.count_bits;
  }
};

/// Finds the places of groups in their buckets, and writes all but bases and counts.
template <class Key>
__global__ __launch_bounds__(kWriteThreads) void place_groups(const __grid_constant__ PayloadTask<Key> task) {
  const GroupedStrings<Key>& grouped = task.grouped;
  const DeviceStrings<Key>& strings = grouped.strings;
  const std::uint32_t first = blockIdx.x * kWriteThreads, group = first + threadIdx.x;
  if (group >= grouped.groups()) return;
  const std::uint32_t shard = grouped.shard_of(first, group), part = grouped.part_of(group, shard);
  const groups::ShardLayout& layout = grouped.layouts[shard];

  // A group comes before those whose largest count is smaller, or as large, and whose id is larger.
  const auto largest_of = [&](std::uint32_t of) {
    return strings.largest_count(task.order[grouped.group_begins[of]]);
  };
  const auto sums_of = [&](std::uint32_t of) -> GroupSums {
    if (grouped.is_large(of)) return {1, 1, layout.large_bits, 0};
    GroupSums sums{1, grouped.strings_of(of)};
    for (std::uint32_t s = grouped.group_begins[of]; s < grouped.group_begins[of + 1]; ++s) {
      sums.base_bits += strings.base_bits(s);
      sums.count_bits += strings.count_bits(s);
    }
    return sums;
  };
  const std::uint64_t mine = largest_of(group);
  const GroupSums own = sums_of(group);
  GroupSums before, all = own;
  for (std::uint32_t other = grouped.part_groups[part]; other < grouped.part_groups[part + 1]; ++other) {
    if (other == group) continue;
    const GroupSums sums = sums_of(other);
    all.add(sums);
    const std::uint64_t count = largest_of(other);
    if (count > mine || (count == mine && other < group)) before.add(sums);
  }

  const std::uint64_t begin = task.begin_of(shard, part);
  const std::uint64_t ends_at = begin + groups::gamma_bits(all.strings + 1);
  const std::uint64_t remainders_at = ends_at + all.strings;
  const std::uint64_t lengths_at = remainders_at + std::uint64_t{all.groups} * layout.remainder_bits;
  const std::uint64_t bases_at = lengths_at + std::uint64_t{all.strings} * layout.length_bits;
  if (before.groups == 0) {
    BitAppender out(task.words, begin);
    out.write_gamma(all.strings + 1);
    out.finish();
  }
  or_device(task.words, ends_at + before.strings, std::uint64_t{1});
  or_device(task.words, remainders_at + std::uint64_t{before.groups} * layout.remainder_bits,
            grouped.rest_of(group) - layout.first_of(part - grouped.shard_parts[shard]));
  const GroupFields place(bases_at + before.base_bits, bases_at + all.base_bits + before.count_bits);
  task.places[group] = place;
  BitAppender lengths(task.words, lengths_at + std::uint64_t{before.strings} * layout.length_bits);
  if (grouped.is_large(group)) {
    lengths.write(groups::StringLengths(strings.kmers.flank_bases()).large(), layout.length_bits);
    or_device(task.words, place.bases(), std::uint64_t{grouped.large_number(group)});
  } else {
    for (std::uint32_t i = grouped.group_begins[group]; i < grouped.group_begins[group + 1]; ++i)
      lengths.write(lengths_of(strings, task.order[i]), layout.length_bits);
  }
  lengths.finish();
}

/// The bits of a string's bases and of its counts.
struct StringBits {
  std::uint32_t bases, counts;
};

/// Writes bases and counts of the strings of groups that are not large. Those of a group that come before a
/// block's strings are within kBefore places.
template <class Key>
__global__ __launch_bounds__(kWriteThreads) void write_strings(
    const __grid_constant__ PayloadTask<Key> task) {
  constexpr std::uint32_t kBefore = groups::kMostInlineStrings - 1;
  __shared__ StringBits bits[kBefore + kWriteThreads];
  const GroupedStrings<Key>& grouped = task.grouped;
  const DeviceStrings<Key>& strings = grouped.strings;
  const std::uint32_t block_begin = blockIdx.x * kWriteThreads;
  const std::uint32_t near_begin = block_begin - min(block_begin, kBefore);
  const std::uint32_t near_end = min(block_begin + kWriteThreads, strings.size);
  for (std::uint32_t i = near_begin + threadIdx.x; i < near_end; i += kWriteThreads) {
    const std::uint32_t s = task.order[i];
    bits[i - near_begin] = {strings.base_bits(s), strings.count_bits(s)};
  }
  __syncthreads();
  const std::uint32_t at = block_begin + threadIdx.x;
  if (at >= strings.size) return;
  const std::uint32_t group = grouped.group_of(at), begin = grouped.group_begins[group];
  if (grouped.is_large(group)) return;
  std::uint64_t bases_at = task.places[group].bases(), counts_at = task.places[group].counts();
  for (std::uint32_t i = begin; i < at; ++i) {
    bases_at += bits[i - near_begin].bases;
    counts_at += bits[i - near_begin].counts;
  }
  const std::uint32_t s = task.order[at];
  BitAppender bases(task.words, bases_at);
  write_bases(strings, s, bases);
  bases.finish();
  BitAppender counts(task.words, counts_at);
  write_counts(strings, s, counts);
  counts.finish();
}

/// Writes the record of one large group.
template <class Key>
class RecordWriter {
 public:
  using Scan = cub::BlockScan<std::uint64_t, kRecordThreads>;

  __device__ RecordWriter(const PayloadTask<Key>& task, std::uint32_t number,
                          typename Scan::TempStorage& memory)
      : task_(task),
        grouped_(task.grouped),
        strings_(task.grouped.strings),
        memory_(memory),
        group_(grouped_.large_groups[number]),
        shard_(grouped_.shard_of(group_)),
        size_(grouped_.strings_of(group_)),
        sums_(grouped_.records[number]),
        length_bits_(grouped_.layouts[shard_].length_bits),
        number_bits_(groups::bits_of(size_ - 1)) {
    const OrderedKmers<Key>& kmers = strings_.kmers;
    first_kmer_ = layer_begin(0);
    const std::uint32_t mark_bits = groups::bits_of(sums_.bases) + groups::bits_of(sums_.count_bits);
    lengths_at_ = task_.begin_of(shard_, grouped_.record_part(group_, shard_)) + groups::gamma_bits(size_) +
                  groups::gamma_bits(sums_.kmers) + groups::gamma_bits(sums_.count_bits);
    marks_at_ = lengths_at_ + std::uint64_t{size_} * length_bits_;
    bases_at_ = marks_at_ + std::uint64_t{(size_ - 1) / groups::kStringsPerMark + 1} * mark_bits;
    counts_at_ = bases_at_ + 2 * sums_.bases;
    layers_at_ = counts_at_ + sums_.count_bits;
    numbers_at_ = layers_at_ + (kmers.flank_bases() + 2) * groups::bits_of(sums_.kmers);
  }

  __device__ void write() {
    if (threadIdx.x == 0) write_head();
    write_layers();
    std::uint64_t bases_before = 0, counts_before = 0;
    for (std::uint32_t first = 0; first < size_; first += kRecordThreads) {
      const std::uint32_t i = first + threadIdx.x;
      const bool is_one = i < size_;
      const std::uint32_t s = is_one ? task_.order[grouped_.group_begins[group_] + i] : 0;
      std::uint64_t bases = is_one ? strings_.base_bits(s) / 2 : 0,
                    counts = is_one ? strings_.count_bits(s) : 0;
      std::uint64_t all_bases = 0, all_counts = 0;
      Scan(memory_).ExclusiveSum(bases, bases, all_bases);
      __syncthreads();
      Scan(memory_).ExclusiveSum(counts, counts, all_counts);
      __syncthreads();
      if (is_one) write_string(s, i, bases_before + bases, counts_before + counts);
      bases_before += all_bases;
      counts_before += all_counts;
    }
  }

 private:
  __device__ void write_head() const {
    BitAppender out(task_.words, task_.begin_of(shard_, grouped_.record_part(group_, shard_)));
    out.write_gamma(size_);
    out.write_gamma(sums_.kmers);
    out.write_gamma(sums_.count_bits);
    out.finish();
  }
  /// Returns the first k-mer of a layer.
  [[nodiscard]] __device__ std::uint32_t layer_begin(std::uint32_t layer) const {
    const OrderedKmers<Key>& kmers = strings_.kmers;
    return lower_bound(kmers.key, kmers.shard_begins[shard_], kmers.shard_begins[shard_ + 1],
                       kmers.keys.pack(grouped_.rest_of(group_), layer, 0));
  }
  __device__ void write_layers() const {
    const std::uint32_t n = strings_.kmers.flank_bases(), bits = groups::bits_of(sums_.kmers);
    for (std::uint32_t layer = threadIdx.x; layer <= n + 1; layer += kRecordThreads) {
      const std::uint64_t begin = layer > n ? sums_.kmers : layer_begin(layer) - first_kmer_;
      or_device(task_.words, layers_at_ + layer * bits, begin);
    }
  }
  /// Writes all there is of a string, the i-th one.
  __device__ void write_string(std::uint32_t s, std::uint32_t i, std::uint64_t bases,
                               std::uint64_t counts) const {
    or_device(task_.words, lengths_at_ + std::uint64_t{i} * length_bits_, lengths_of(strings_, s));
    if (i % groups::kStringsPerMark == 0) {
      const std::uint32_t base_mark = groups::bits_of(sums_.bases),
                          count_mark = groups::bits_of(sums_.count_bits);
      const std::uint64_t at =
          marks_at_ + std::uint64_t{i / groups::kStringsPerMark} * (base_mark + count_mark);
      or_device(task_.words, at, bases);
      or_device(task_.words, at + base_mark, counts);
    }
    BitAppender base_fields(task_.words, bases_at_ + 2 * bases);
    write_bases(strings_, s, base_fields);
    base_fields.finish();
    BitAppender count_fields(task_.words, counts_at_ + counts);
    write_counts(strings_, s, count_fields);
    count_fields.finish();
    strings_.for_each_kmer(s, [&](std::uint32_t kmer) {
      or_device(task_.words, numbers_at_ + std::uint64_t{kmer - first_kmer_} * number_bits_, i);
    });
  }

  const PayloadTask<Key>& task_;
  const GroupedStrings<Key>& grouped_;
  const DeviceStrings<Key>& strings_;
  typename Scan::TempStorage& memory_;
  std::uint32_t group_, shard_, size_;
  RecordSums sums_;
  std::uint32_t length_bits_, number_bits_;
  std::uint32_t first_kmer_ = 0;
  std::uint64_t lengths_at_, marks_at_, bases_at_, counts_at_, layers_at_, numbers_at_;
};

template <class Key>
__global__ __launch_bounds__(kRecordThreads) void write_records(
    const __grid_constant__ PayloadTask<Key> task) {
  __shared__ typename RecordWriter<Key>::Scan::TempStorage memory;
  RecordWriter<Key>(task, blockIdx.x, memory).write();
}

}  // namespace

template <class Key>
void StringPayload<Key>::write(const GroupedStrings<Key>& grouped, const StringGroups<Key>& groups,
                               unsigned long long* words, cudaStream_t stream) {
  std::uint64_t word_count = 0, large = 0;
  for (const groups::ShardSizes& sizes : groups.sizes()) {
    word_count += sizes.words;
    large += sizes.large_groups;
  }
  if (word_count == 0) return;
  if (64 * word_count >> GroupFields::kBasesBits != 0)
    throw InternalError("32 GiB of payloads and more are to be written at once");
  const std::uint32_t strings = grouped.strings.size;
  make_room(places_, strings, stream);  // there are no more groups than that
  const PayloadTask<Key> task{grouped, order_.order(grouped, groups.most_strings(), stream), places_.data(),
                              words};
  fill_bytes(words, 0, word_count, stream);
  const auto blocks = [](std::uint32_t n) { return n / kWriteThreads + 1; };
  write_offsets<Key><<<blocks(grouped.most_parts), kWriteThreads, 0, DriverLock::Shared(stream)>>>(task);
  place_groups<Key><<<blocks(strings), kWriteThreads, 0, DriverLock::Shared(stream)>>>(task);
  write_strings<Key><<<blocks(strings), kWriteThreads, 0, DriverLock::Shared(stream)>>>(task);
  if (large > 0) {
    write_records<Key>
        <<<static_cast<std::uint32_t>(large), kRecordThreads, 0, DriverLock::Shared(stream)>>>(task);
  }
  check_launch("writing strings");
}

template class StringPayload<Key64>;
template class StringPayload<Key128>;

}  // namespace warpmer::gpu
