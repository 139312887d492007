#include "index/shard_transcoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/thread_team.h"
#include "groups/group_key.h"
#include "index/shard_codec.h"
#include "kmer/hash.h"

namespace warpmer::index {
namespace {

template <class Key>
struct Entry {
  Key key;
  std::uint64_t count;
};

/// Entries in order, as those who pack them take them.
template <class Key>
struct SortedEntries {
  std::vector<Key> keys;
  std::vector<std::uint64_t> counts;

  explicit SortedEntries(std::vector<Entry<Key>>&& entries) {
    std::sort(entries.begin(), entries.end(),
              [](const Entry<Key>& a, const Entry<Key>& b) { return a.key < b.key; });
    for (const Entry<Key>& entry : entries) {
      keys.push_back(entry.key);
      counts.push_back(entry.count);
    }
    entries = {};
  }
};

template <class Key, class Flanks>
FrozenShard to_strings(const FrozenShard& from, std::uint32_t shard, const IndexParams& params) {
  const groups::GroupKeys<Key, Flanks> keys(params.k);
  const KmerHash<Key> hash(params.k);
  std::vector<Entry<Key>> entries;
  entries.reserve(from.shape.entries);
  const ShardView view{from.shape, from.payload.data(), from.payload.size()};
  ShardReader<Key>(view, params.k).for_each([&](Key hashed, std::uint64_t count) {
    const auto place = keys.place(hash.inverse(hashed), params.canonical);
    if (place.shard != shard)
      throw InternalError(fmt::format("a k-mer of shard {} is in shard {}", place.shard, shard));
    entries.push_back({place.key, count});
  });
  const SortedEntries<Key> sorted(std::move(entries));
  groups::EncodedShard encoded = groups::KeyEncoder<Key, Flanks>(params.k).encode(sorted.keys, sorted.counts);
  FrozenShard strings;
  strings.payload = std::move(encoded.payload);
  strings.sizes = encoded.sizes;
  return strings;
}

template <class Key, class Flanks>
FrozenShard to_entries(const groups::ShardBits& strings, std::uint32_t shard, const IndexParams& params) {
  const groups::GroupKeys<Key, Flanks> keys(params.k);
  const KmerHash<Key> hash(params.k);
  groups::GroupKmers<Flanks> kmers(strings.flank_bases);
  std::vector<Entry<Key>> entries;
  groups::for_each_key(strings, keys, kmers, [&](Key key, std::uint64_t count) {
    const Key kmer = keys.template kmer<Key>({shard, key});
    entries.push_back({hash(params.canonical ? canonical(kmer, params.k) : kmer), count});
  });
  const SortedEntries<Key> sorted(std::move(entries));
  return freeze(sorted.keys.data(), sorted.counts.data(), sorted.keys.size(), params.k);
}

}  // namespace

FrozenShard strings_of(FrozenShard&& entries, std::uint32_t shard, const IndexParams& params) {
  FrozenShard from = std::move(entries);
  if (from.shape.entries == 0) return {};
  hold_payload(from, params.k);
  const std::size_t words = from.payload.size();
  from.payload.resize(words + kReadAheadWords);
  return groups::with_key_types(
      params.k, [&]<class Key, class Flanks>() { return to_strings<Key, Flanks>(from, shard, params); });
}

FrozenShard entries_of(const groups::ShardBits& strings, std::uint32_t shard, const IndexParams& params) {
  return groups::with_key_types(
      params.k, [&]<class Key, class Flanks>() { return to_entries<Key, Flanks>(strings, shard, params); });
}

EntryImage::EntryImage(const IndexFile& index)
    : shapes_(index.params().shards()), begins_(index.params().shards() + std::size_t{1}) {
  const std::uint32_t shards = index.params().shards();
  std::vector<std::vector<std::uint64_t>> payloads(shards);
  std::atomic<std::uint32_t> next{0};
  run_team(
      std::max(1u, std::thread::hardware_concurrency()),
      [&](unsigned) {
        for (std::uint32_t shard; (shard = next.fetch_add(1)) < shards;) {
          if (index.kmers(shard) == 0) continue;
          FrozenShard made = entries_of(index.strings(shard), shard, index.params());
          shapes_[shard] = made.shape;
          payloads[shard] = std::move(made.payload);
        }
      },
      [&] { next = shards; });
  for (std::uint32_t s = 0; s < shards; ++s) begins_[s + 1] = begins_[s] + payloads[s].size();
  words_.reserve(begins_.back() + kReadAheadWords);
  for (auto& payload : payloads) {
    words_.insert(words_.end(), payload.begin(), payload.end());
    payload = {};
  }
  words_.resize(words_.size() + kReadAheadWords);
}

}  // namespace warpmer::index
