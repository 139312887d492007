// A thread writes a bucket, and a block the record of a large group: the begins of its fields are known from
// sums, so that each thread writes those of its strings, and each string its number where its k-mers stand.

#include <cub/block/block_scan.cuh>

#include "kernels/freeze/bit_appender.cuh"
#include "kernels/freeze/string_payload.cuh"

namespace warpmer::gpu {

namespace {

constexpr std::uint32_t kWriteThreads = 128, kRecordThreads = 256;

/// Shards and their strings in order, and the memory of their payloads.
template <class Key>
struct PayloadTask {
  GroupedStrings<Key> grouped;
  typename StringOrder<Key>::OrderedStrings order;
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

template <class Key>
__global__ __launch_bounds__(kWriteThreads) void write_buckets(
    const __grid_constant__ PayloadTask<Key> task) {
  const GroupedStrings<Key>& grouped = task.grouped;
  const DeviceStrings<Key>& strings = grouped.strings;
  const std::uint32_t first = blockIdx.x * kWriteThreads, part = first + threadIdx.x;
  if (part >= grouped.parts()) return;
  const std::uint32_t shard = last_not_above(grouped.shard_parts, grouped.shards(), first, part);
  const groups::ShardLayout& layout = grouped.layouts[shard];
  const std::uint32_t bucket = part - grouped.shard_parts[shard];
  if (bucket >= layout.buckets) return;
  const std::uint32_t begin = grouped.part_groups[part], end = grouped.part_groups[part + 1];
  /// Calls `visit(group, its strings, or 1 if it is large)`.
  const auto for_each_group = [&](auto&& visit) {
    for (std::uint32_t at = begin; at < end; ++at) {
      const std::uint32_t group = task.order.groups[at], n = grouped.strings_of(group);
      visit(group, n > groups::kMostInlineStrings ? 1 : n, n > groups::kMostInlineStrings);
    }
  };
  const auto for_each_string = [&](std::uint32_t group, std::uint32_t n, auto&& visit) {
    const std::uint32_t* at = task.order.strings + grouped.group_begins[group];
    for (std::uint32_t i = 0; i < n; ++i) visit(at[i]);
  };
  std::uint64_t all = 0;
  for_each_group([&](std::uint32_t, std::uint32_t n, bool) { all += n; });
  BitAppender out(task.words, task.begin_of(shard, part));
  out.write_gamma(all + 1);
  for_each_group([&](std::uint32_t, std::uint32_t n, bool) { out.write(1, n); });
  const auto first_rest = static_cast<std::uint32_t>(layout.first_of(bucket));
  for_each_group([&](std::uint32_t group, std::uint32_t, bool) {
    out.write(std::uint64_t{grouped.rest_of(group) - first_rest}, layout.remainder_bits);
  });
  for_each_group([&](std::uint32_t group, std::uint32_t n, bool is_large) {
    if (is_large)
      return out.write(groups::StringLengths(strings.kmers.flank_bases()).large(), layout.length_bits);
    for_each_string(group, n,
                    [&](std::uint32_t s) { out.write(lengths_of(strings, s), layout.length_bits); });
  });
  for_each_group([&](std::uint32_t group, std::uint32_t n, bool is_large) {
    if (is_large) return out.write(grouped.large_number(group, shard), layout.large_bits);
    for_each_string(group, n, [&](std::uint32_t s) { write_bases(strings, s, out); });
  });
  for_each_group([&](std::uint32_t group, std::uint32_t n, bool is_large) {
    if (!is_large) for_each_string(group, n, [&](std::uint32_t s) { write_counts(strings, s, out); });
  });
  out.finish();
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
      const std::uint32_t s = is_one ? task_.order.strings[grouped_.group_begins[group_] + i] : 0;
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
void write_strings(const GroupedStrings<Key>& grouped, const StringGroups<Key>& groups,
                   StringOrder<Key>& order, unsigned long long* words, cudaStream_t stream) {
  std::uint64_t word_count = 0, large = 0;
  for (const groups::ShardSizes& sizes : groups.sizes()) {
    word_count += sizes.words;
    large += sizes.large_groups;
  }
  if (word_count == 0) return;
  const PayloadTask<Key> task{grouped, order.order(grouped, groups.most_strings(), stream), words};
  fill_bytes(words, 0, word_count, stream);
  const std::uint32_t blocks = grouped.most_parts / kWriteThreads + 1;
  write_offsets<Key><<<blocks, kWriteThreads, 0, DriverLock::Shared(stream)>>>(task);
  write_buckets<Key><<<blocks, kWriteThreads, 0, DriverLock::Shared(stream)>>>(task);
  if (large > 0) {
    write_records<Key>
        <<<static_cast<std::uint32_t>(large), kRecordThreads, 0, DriverLock::Shared(stream)>>>(task);
  }
  check_launch("writing strings");
}

template void write_strings(const GroupedStrings<Key64>&, const StringGroups<Key64>&, StringOrder<Key64>&,
                            unsigned long long*, cudaStream_t);
template void write_strings(const GroupedStrings<Key128>&, const StringGroups<Key128>&, StringOrder<Key128>&,
                            unsigned long long*, cudaStream_t);

}  // namespace warpmer::gpu
