#include "kernels/update/string_merge.cuh"

namespace warpmer::gpu {

template <class Key>
StringMerger<Key>::StringMerger(std::uint32_t k, bool canonical, std::uint32_t most_shards,
                                cudaStream_t stream)
    : expander_(k, most_shards),
      order_(k, canonical),
      combiner_(stream),
      grouped_{{{groups::GroupKeys<Key, Key>(k)}}} {
  fill_bytes(tallies_.data(), 0, tallies_.size(), stream);
}

template <class Key>
const std::vector<groups::ShardSizes>& StringMerger<Key>::measure(const MergeShards& shards,
                                                                  cudaStream_t stream) {
  // What is unpacked, what is in order and what is left have two memories in turn.
  const CountedShards<Key> expanded = expander_.expand(shards, stream);
  const OrderedKmers<Key> ordered = order_.order(expanded, stream);
  const OrderedKmers<Key> left =
      combiner_.combine(ordered, expander_.counts(), expanded.counted.keys, expanded.counted.counts, stream);
  tally_.note(left, tallies_.data(), large_, stream);
  const SpareNumbers spare = order_.spare(left.size);
  const DeviceStrings<Key> strings = strings_.find(left, spare.first, spare.second, stream);
  grouped_ = groups_.measure(strings, spare.third, stream);
  return groups_.sizes();
}

template <class Key>
void StringMerger<Key>::write(unsigned long long* words, cudaStream_t stream) {
  payload_.write(grouped_, groups_, words, stream);
}

template <class Key>
void StringMerger<Key>::add_to(backend::Tally& tally, cudaStream_t stream) const {
  const PinnedArray<unsigned long long> tallies(tallies_.size());
  copy_to_host(tallies.data(), tallies_.data(), tallies_.size(), stream);
  check(cudaStreamSynchronize(stream), "taking counts");
  tally.note_histogram({tallies.data(), tallies.size()});
  tally.merge(large_);
}

template class StringMerger<Key64>;
template class StringMerger<Key128>;

}  // namespace warpmer::gpu
