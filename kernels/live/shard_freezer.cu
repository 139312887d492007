#include "kernels/freeze/payload_ring.cuh"
#include "kernels/live/shard_freezer.cuh"
#include "kernels/memory/scan_memory.cuh"
#include "kmer/minimizer.h"

namespace warpmer::gpu {

index::FrozenShard ShardsOnHost::shard(std::uint32_t number) const {
  const StringPlan& plan = strings[number - first];
  index::FrozenShard frozen;
  frozen.sizes = plan.sizes;
  const std::uint64_t* const payload = words.get() + plan.first_word;
  frozen.payload.assign(payload, payload + plan.sizes.words);
  return frozen;
}

template <class Key>
ShardFreezer<Key>::ShardFreezer(const KmerParams& kmers, std::uint64_t bytes)
    : kmers_(kmers), bytes_(bytes), freezer_(make_key_freezer<Key>(kmers)) {}

template <class Key>
void ShardFreezer<Key>::begin(const LiveEntries<Key>& entries, const index::ShardRange& shards,
                              cudaStream_t stream) {
  const LiveBins bins(kmers_.k, shards.first, shards.end);
  shards_ = shards;
  listed_ = {shards.first, shards.first};
  bin_bits_ = bins.bits;
  const std::uint64_t bin_bytes = bins.size() * kBinBytes;
  const std::uint64_t half = bytes_ > bin_bytes ? (bytes_ - bin_bytes) / 2 : 0;
  most_listed_ = half / kListedBytes;
  most_frozen_ = half / kFrozenBytes;
  std::vector<std::uint32_t> sizes(bins.size());
  make_room(bin_sizes_, bins.size(), stream);
  make_room(bin_begins_, bins.size(), stream);
  fill_bytes(bin_sizes_.data(), 0, bins.size(), stream);
  entries.count_bins(bins, bin_sizes_.data(), stream);
  copy_to_host(sizes.data(), bin_sizes_.data(), bins.size(), stream);
  check(cudaStreamSynchronize(stream), "counting k-mers");
  begins_.assign(1, 0);
  for (const std::uint32_t size : sizes) begins_.push_back(begins_.back() + size);
}

template <class Key>
ShardsOnHost ShardFreezer<Key>::freeze(const LiveEntries<Key>& entries, std::uint32_t first,
                                       cudaStream_t stream) {
  if (first == listed_.end) list(entries, first, stream);
  const std::uint32_t end = end_of(first, listed_.end, most_frozen_);
  ShardsOnHost frozen;
  frozen.first = first;
  if (begin_of(first) == begin_of(end)) {
    frozen.strings.resize(end - first);
    return frozen;
  }
  std::uint64_t words = 0;
  for (const groups::ShardSizes& sizes : freezer_->measure(listed_shards(first, end, stream), stream)) {
    frozen.strings.push_back({sizes, words});
    words += sizes.words;
  }
  make_room(words_, words + PayloadRing::kSpareWords, stream);
  freezer_->write(words_.data(), stream);
  frozen.words = std::make_unique_for_overwrite<std::uint64_t[]>(words);
  copy_to_host(reinterpret_cast<unsigned long long*>(frozen.words.get()), words_.data(), words, stream);
  check(cudaStreamSynchronize(stream), "freezing shards");
  return frozen;
}

/// Returns the end of the shards from the first one on that have so many k-mers together, at least one.
template <class Key>
std::uint32_t ShardFreezer<Key>::end_of(std::uint32_t first, std::uint32_t end,
                                        std::uint64_t most_kmers) const {
  std::uint32_t here = first + 1;
  while (here < end && begin_of(here + 1) - begin_of(first) <= most_kmers) ++here;
  return here;
}

/// Lists shards from the first one on.
template <class Key>
void ShardFreezer<Key>::list(const LiveEntries<Key>& entries, std::uint32_t first, cudaStream_t stream) {
  listed_ = {first, end_of(first, shards_.end, most_listed_)};
  const std::uint64_t kmers = begin_of(listed_.end) - begin_of(first);
  make_room(keys_, kmers, stream);
  make_room(counts_, kmers, stream);
  const LiveBins bins(kmers_.k, first, listed_.end);
  set_begins(listed_, stream);
  fill_bytes(bin_sizes_.data(), 0, bins.size(), stream);
  entries.list_bins(bins, bin_begins_.data(), bin_sizes_.data(), keys_.data(), counts_.data(), stream);
}

/// Returns some of the shards that are listed.
template <class Key>
CountedShards<Key> ShardFreezer<Key>::listed_shards(std::uint32_t first, std::uint32_t end,
                                                    cudaStream_t stream) {
  const std::uint64_t before = begin_of(first) - begin_of(listed_.first);
  set_begins({first, end}, stream);
  CountedShards<Key> shards{};
  shards.counted.keys = keys_.data() + before;
  shards.counted.counts = counts_.data() + before;
  shards.counted.first_bin = first << bin_bits_;
  shards.counted.begins = bin_begins_.data();
  shards.counted.sizes = bin_sizes_.data() + (std::size_t{first - listed_.first} << bin_bits_);
  shards.first_shard = first;
  shards.shards = end - first;
  shards.bins_per_shard = 1u << bin_bits_;
  shards.bins_are_ordered = true;
  shards.entries = begin_of(end) - begin_of(first);
  return shards;
}

/// Sets where the bins of some shards begin, in memory that begins with them.
template <class Key>
void ShardFreezer<Key>::set_begins(const index::ShardRange& shards, cudaStream_t stream) {
  const auto* const begin = begins_.data() + bin_of(shards.first);
  const auto* const end = begins_.data() + bin_of(shards.end);
  relative_begins_.assign(begin, end);
  for (std::uint64_t& at : relative_begins_) at -= *begin;
  copy_to_device(bin_begins_.data(), relative_begins_.data(), relative_begins_.size(), stream);
}

template class ShardFreezer<Key64>;
template class ShardFreezer<Key128>;

}  // namespace warpmer::gpu
