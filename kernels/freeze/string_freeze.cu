#include <memory>

#include "kernels/freeze/kmer_strings.cuh"
#include "kernels/freeze/string_freeze.cuh"
#include "kernels/freeze/string_groups.cuh"
#include "kernels/freeze/string_payload.cuh"

namespace warpmer::gpu {

namespace {

template <class Kmer, class Key, OrderInput kInput = OrderInput::hashes>
class KeyedFreezer final : public StringFreezer<Kmer> {
 public:
  explicit KeyedFreezer(const KmerParams& params)
      : kmer_order_(params.k, params.canonical), grouped_(params.k) {}

  const std::vector<groups::ShardSizes>& measure(const CountedShards<Kmer>& shards,
                                                 cudaStream_t stream) override {
    const OrderedKmers<Key> kmers = kmer_order_.order(shards, stream);
    const SpareNumbers spare(shards);
    const DeviceStrings<Key> strings = strings_.find(kmers, spare.first, spare.second, stream);
    grouped_.view = groups_.measure(strings, spare.third, stream);
    return groups_.sizes();
  }

  void write(unsigned long long* words, cudaStream_t stream) override {
    payload_.write(grouped_.view, groups_, words, stream);
  }

 private:
  /// The k-mers that were measured last; at first none.
  struct Grouped {
    explicit Grouped(std::uint32_t k) : view{{{groups::GroupKeys<Key, Key>(k)}}} {}
    GroupedStrings<Key> view;
  };

  GroupedOrder<Kmer, Key, kInput> kmer_order_;
  KmerStrings<Key> strings_;
  StringGroups<Key> groups_;
  StringPayload<Key> payload_;
  Grouped grouped_;
};

}  // namespace

template <>
std::unique_ptr<StringFreezer<Key64>> make_string_freezer(const KmerParams& params) {
  return std::make_unique<KeyedFreezer<Key64, Key64>>(params);
}
template <>
std::unique_ptr<StringFreezer<Key128>> make_string_freezer(const KmerParams& params) {
  if (groups::GroupKeys<Key64, Key64>(params.k).bits() <= 64)
    return std::make_unique<KeyedFreezer<Key128, Key64>>(params);
  return std::make_unique<KeyedFreezer<Key128, Key128>>(params);
}

template <class Key>
std::unique_ptr<StringFreezer<Key>> make_key_freezer(const KmerParams& params) {
  return std::make_unique<KeyedFreezer<Key, Key, OrderInput::keys>>(params);
}
template std::unique_ptr<StringFreezer<Key64>> make_key_freezer(const KmerParams& params);
template std::unique_ptr<StringFreezer<Key128>> make_key_freezer(const KmerParams& params);

}  // namespace warpmer::gpu
