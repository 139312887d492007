// Merging strings on the device: the payloads, tallies and shortfalls that follow from maps of k-mers.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gpu/device.h"
#include "gpu/on_device.cuh"
#include "gpu/string_content.h"
#include "kernels/update/string_merge.cuh"

namespace {

using namespace warpmer;
using namespace warpmer::gpu;
using namespace warpmer::tests;

/// Counts of the k-mers of some shards, by shard and key.
template <class Key>
using MergedCounts = std::map<std::pair<std::uint32_t, Key>, std::uint64_t>;

/// Shards on the host and on the device, one behind the other.
template <class Key, class Flanks>
class EncodedShards {
 public:
  EncodedShards(std::uint32_t k, const MergedCounts<Key>& counts, std::uint32_t shards, const Stream& stream)
      : begins_(shards), shards_(shards) {
    groups::KeyEncoder<Key, Flanks> encoder(k);
    auto at = counts.begin();
    for (std::uint32_t shard = 0; shard < shards; ++shard) {
      std::vector<Key> keys;
      std::vector<std::uint64_t> values;
      for (; at != counts.end() && at->first.first == shard; ++at) {
        keys.push_back(at->first.second);
        values.push_back(at->second);
      }
      shards_[shard] = encoder.encode(keys, values);
      begins_[shard] = words_.size();
      words_.insert(words_.end(), shards_[shard].payload.begin(),
                    shards_[shard].payload.begin() + static_cast<std::ptrdiff_t>(shards_[shard].sizes.words));
    }
    words_.resize(words_.size() + kReadAheadWords, ~std::uint64_t{0});
    device_ = on_device(words_, stream);
  }

  [[nodiscard]] const groups::EncodedShard& operator[](std::uint32_t shard) const { return shards_[shard]; }
  [[nodiscard]] StringShard on_gpu(std::uint32_t shard) const {
    return {shards_[shard].sizes, device_.data() + begins_[shard]};
  }

 private:
  std::vector<std::uint64_t> begins_, words_;
  std::vector<groups::EncodedShard> shards_;
  DeviceArray<std::uint64_t> device_;
};

/// Merges the first shards, so many at a time, and compares with what the maps give.
template <class Key, class Flanks>
void check_merge(std::uint32_t k, const MergedCounts<Key> (&all)[kMergeInputs], std::uint32_t shards,
                 std::uint32_t at_once) {
  CAPTURE(k);
  CAPTURE(at_once);
  MergedCounts<Key> inputs[kMergeInputs];
  for (std::uint32_t i = 0; i < kMergeInputs; ++i)
    inputs[i] = {all[i].begin(), all[i].lower_bound({shards, Key{0}})};
  MergedCounts<Key> left = inputs[0];
  for (const auto& [place, count] : inputs[1]) left[place] += count;
  backend::Shortfall shortfall;
  for (const auto& [place, count] : inputs[2]) {
    const auto at = left.find(place);
    const std::uint64_t there = at == left.end() ? 0 : at->second;
    if (count > there) shortfall.note(there, count - there);
    if (count >= there) {
      left.erase(place);
    } else {
      at->second -= count;
    }
  }
  backend::Tally expected_tally;
  for (const auto& [place, count] : left) expected_tally.note(count, 1);

  const Stream stream;
  const EncodedShards<Key, Flanks> was(k, inputs[0], shards, stream), added(k, inputs[1], shards, stream),
      removed(k, inputs[2], shards, stream), expected(k, left, shards, stream);
  StringMerger<Key> merger(k, true, at_once, stream);
  MergeShards step(k, at_once);
  for (std::uint32_t first = 0; first < shards; first += at_once) {
    const std::uint32_t end = std::min(shards, first + at_once);
    step.clear();
    for (std::uint32_t shard = first; shard < end; ++shard)
      step.add(was.on_gpu(shard), added.on_gpu(shard), removed.on_gpu(shard));
    const std::vector<groups::ShardSizes> measured = merger.measure(step, stream);
    REQUIRE(measured.size() == end - first);
    std::uint64_t words = 0;
    for (const groups::ShardSizes& size : measured) words += size.words;
    DeviceArray<unsigned long long> output(words + 1);
    fill_bytes(output.data(), 0xA5, words + 1, stream);
    merger.write(output.data(), stream);
    std::vector<unsigned long long> payloads(words + 1);
    copy_to_host(payloads.data(), output.data(), payloads.size(), stream);
    stream.wait();
    CHECK(payloads.back() == 0xA5A5A5A5A5A5A5A5u);
    auto at = payloads.begin();
    for (std::uint32_t shard = first; shard < end; ++shard) {
      CAPTURE(shard);
      REQUIRE(measured[shard - first] == expected[shard].sizes);
      const auto behind = at + static_cast<std::ptrdiff_t>(measured[shard - first].words);
      CHECK(std::equal(at, behind, expected[shard].payload.begin()));
      at = behind;
    }
  }
  backend::Tally tally;
  merger.add_to(tally, stream);
  CHECK((tally.histogram() == expected_tally.histogram()));
  CHECK(tally.totals().stored_distinct == expected_tally.totals().stored_distinct);
  const backend::Shortfall noted = merger.shortfall(stream);
  CHECK(noted.absent_kmers == shortfall.absent_kmers);
  CHECK(noted.absent_occurrences == shortfall.absent_occurrences);
  CHECK(noted.short_kmers == shortfall.short_kmers);
  CHECK(noted.short_occurrences == shortfall.short_occurrences);
}

/// Returns the k-mers of a content in three: many are in several of them, and what is removed is sometimes as
/// much as there is, sometimes more or less.
template <class Kmer, class Key, class Flanks>
void divide(const CountedContent<Kmer, Key, Flanks>& content, std::mt19937_64& random,
            MergedCounts<Key> (&inputs)[kMergeInputs]) {
  for (const auto& [place, entry] : content.shards) {
    const std::uint64_t which = 1 + random() % 7;
    std::uint64_t there = 0;
    for (std::uint32_t i = 0; i < 2; ++i) {
      if ((which >> i & 1) != 0) there += inputs[i][place] = entry.count + random() % 2;
    }
    if ((which >> 2) == 0) continue;
    const std::uint64_t removed = random() % 2 == 0 ? there : there / 2 + random() % 3;
    inputs[2][place] = std::max<std::uint64_t>(1, removed);
  }
}

TEST_CASE("merged strings of many small groups") {
  for (const std::uint32_t k : countable(kLengths)) {
    with_types(k, [&]<class Kmer, class Key, class Flanks>() {
      std::mt19937_64 random(k);
      CountedContent<Kmer, Key, Flanks> content(k, true);
      for (int round = 0; round < 30; ++round) {
        for (const std::string& text : awkward_sequences(k, random)) {
          content.add(text, random_count(random));
          content.add(text.substr(random() % k), random_count(random));
        }
      }
      MergedCounts<Key> inputs[kMergeInputs];
      divide(content, random, inputs);
      check_merge<Key, Flanks>(k, inputs, 4096, 512);
      inputs[2].clear();
      check_merge<Key, Flanks>(k, inputs, 4096, 300);
      inputs[1].clear();
      check_merge<Key, Flanks>(k, inputs, 4096, 512);
      inputs[0].swap(inputs[2]);
      inputs[2] = inputs[1];
      check_merge<Key, Flanks>(k, inputs, 4096, 512);
    });
  }
}

TEST_CASE("merged strings of large groups, and counts of all sizes") {
  for (const std::uint32_t k : countable(kLengths)) {
    with_types(k, [&]<class Kmer, class Key, class Flanks>() {
      std::mt19937_64 random(k);
      CountedContent<Kmer, Key, Flanks> content(k, true);
      for (const std::uint32_t texts : {3u, 60u, 80u, 400u, 2000u}) {
        OneMinimizer one(k, random);
        const std::uint32_t out_of = 2 + static_cast<std::uint32_t>(random() % 20);
        for (std::uint32_t i = 0; i < texts; ++i) content.add(one.changed(out_of), random_count(random));
      }
      // Around 2^16 and 2^32, and far beyond.
      for (auto& [place, entry] : content.shards) {
        if (random() % 50 == 0) entry.count = (1u << 16) - 2 + random() % 5;
        if (random() % 50 == 0)
          entry.count = (std::uint64_t{UINT32_MAX} - 2 + random() % 5)
                        << (random() % 4 == 0 ? random() % 30 : 0);
      }
      MergedCounts<Key> inputs[kMergeInputs];
      divide(content, random, inputs);
      check_merge<Key, Flanks>(k, inputs, 4096, 512);
      check_merge<Key, Flanks>(k, inputs, 4096, 77);
    });
  }
}

TEST_CASE("merged strings of many groups in few shards") {
  for (const std::uint32_t k : countable(kLengths)) {
    with_types(k, [&]<class Kmer, class Key, class Flanks>() {
      std::mt19937_64 random(k);
      CountedContent<Kmer, Key, Flanks> content(k, true);
      for (const std::uint32_t shard : {0u, 2u}) {
        for (std::string& text : texts_of_shard(k, shard, random)) {
          content.add(text, random_count(random));
          text[random() % text.size()] = base_char(static_cast<unsigned>(random()));
          content.add(text, random_count(random));
        }
      }
      MergedCounts<Key> inputs[kMergeInputs];
      divide(content, random, inputs);
      check_merge<Key, Flanks>(k, inputs, 4096, 512);
      check_merge<Key, Flanks>(k, inputs, 3, 1);
    });
  }
}

TEST_CASE("more large counts than are noted at once, and a group of very many k-mers") {
  with_types(31, [&]<class Kmer, class Key, class Flanks>() {
    std::mt19937_64 random(31);
    CountedContent<Kmer, Key, Flanks> content(31, true);
    OneMinimizer one(31, random);
    while (content.shards.size() < 300'000) content.add(one.changed(8), 1 + random() % (1u << 18));
    MergedCounts<Key> inputs[kMergeInputs];
    divide(content, random, inputs);
    check_merge<Key, Flanks>(31, inputs, 4096, 512);
    for (auto& input : inputs) input.clear();
    check_merge<Key, Flanks>(31, inputs, 10, 4);
  });
}

}  // namespace
