#include "index/kmer_bytes.h"

#include <mutex>

#include "base/thread_team.h"
#include "groups/shard_bits.h"
#include "index/index_layout.h"

namespace warpmer::index {
namespace {

/// The counts of a bucket are its last part.
void add_bucket(const groups::ShardBits& shard, std::uint64_t number, KmerBits& bits) {
  const groups::Bucket bucket(shard, shard.part(number));
  std::uint64_t counts_at = bucket.bases_at;
  for (std::uint64_t i = 0; i < bucket.strings; ++i) {
    const groups::FlankLengths lengths = shard.lengths_at(bucket.lengths_at + i * shard.layout.length_bits);
    counts_at += shard.base_bits(lengths);
    // The number of a large group tells where it is.
    if (!lengths.is_large()) bits.bases += shard.base_bits(lengths) + shard.layout.length_bits;
  }
  bits.counts += shard.part(number + 1).at - counts_at;
}

void add_large_group(const groups::ShardBits& shard, std::uint64_t number, KmerBits& bits) {
  const groups::LargeGroup group(shard, shard.part(number));
  bits.bases += group.strings * shard.layout.length_bits + (group.counts_at - group.bases_at);
  bits.counts += group.begins_at - group.counts_at;
}

KmerBits bits_of_strings(const groups::ShardBits& shard, std::uint64_t large_groups) {
  KmerBits bits;
  const std::uint64_t buckets = shard.layout.buckets;
  for (std::uint64_t i = 0; i < buckets; ++i) add_bucket(shard, i, bits);
  for (std::uint64_t i = 0; i < large_groups; ++i) add_large_group(shard, buckets + i, bits);
  return bits;
}

KmerBits bits_of_entries(const ShardShape& shape, std::uint32_t k) {
  const std::uint64_t number_bits = shape.entries == 0 ? 0 : groups::bits_of(shape.entries - 1);
  return {shape.entries * (2 * k - shape.bucket_bits),
          shape.entries * shape.count_bits + shape.exceptions * (number_bits + shape.exception_bits)};
}

}  // namespace

KmerBits kmer_bits(const IndexFile& index, unsigned threads) {
  const IndexParams& params = index.params();
  KmerBits all;
  std::mutex mutex;
  share_numbers(threads, 0, params.shards(), [&](unsigned /*thread*/, SharedNumbers& numbers) {
    KmerBits own;
    for (std::uint32_t shard; numbers.take(shard);) {
      if (index.kmers(shard) == 0) continue;
      const KmerBits more = layout::has_strings(params.k)
                                ? bits_of_strings(index.strings(shard), index.sizes(shard).large_groups)
                                : bits_of_entries(index.shape(shard), params.k);
      own.bases += more.bases;
      own.counts += more.counts;
      index.release(shard);
    }
    const std::lock_guard lock(mutex);
    all.bases += own.bases;
    all.counts += own.counts;
  });
  return all;
}

}  // namespace warpmer::index
