#pragma once
/// Indexes of given k-mers with counts, for any k.

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "groups/group_key.h"
#include "index/index_file.h"
#include "index/shard_codec.h"
#include "index/writer/index_writer.h"
#include "kmer/hash.h"
#include "kmer/kmer.h"
#include "kmer/minimizer.h"

namespace warpmer::tests {

/// Counts of k-mers by their place in an index: the shard, and the key there, which is a hash for k up to 12,
/// else a groups::GroupKeys'.
template <class Key>
using KmerPlaces = std::map<std::pair<std::uint32_t, Key>, std::uint64_t>;

inline index::IndexParams params_of(std::uint32_t k, bool canonical) {
  return {k, canonical, minimizer_length(k), shard_bits(k), kHashVersion};
}

/// Returns the place of a k-mer, a canonical one if the index has those.
template <class Key>
std::pair<std::uint32_t, Key> place_of(Key kmer, const index::IndexParams& params) {
  if (params.k <= kMaxDenseK) return {0, KmerHash<Key>(params.k)(kmer)};
  const auto place = groups::GroupKeys<Key, Key>(params.k).place(kmer, params.canonical);
  return {place.shard, place.key};
}
template <class Key>
Key kmer_at(const std::pair<std::uint32_t, Key>& place, const index::IndexParams& params) {
  if (params.k <= kMaxDenseK) return KmerHash<Key>(params.k).inverse(place.second);
  const groups::GroupKeys<Key, Key> keys(params.k);
  const Key kmer = keys.template kmer<Key>({place.first, place.second});
  return params.canonical ? canonical(kmer, params.k) : kmer;
}

/// Returns the k-mers of one shard as an index has them.
template <class Key>
index::FrozenShard frozen(const KmerPlaces<Key>& places, std::uint32_t shard, std::uint32_t k) {
  std::vector<Key> keys;
  std::vector<std::uint64_t> counts;
  for (auto at = places.lower_bound({shard, 0}); at != places.end() && at->first.first == shard; ++at) {
    keys.push_back(at->first.second);
    counts.push_back(at->second);
  }
  if (k <= kMaxDenseK) {
    const std::vector<Key64> hashes(keys.begin(), keys.end());
    return index::freeze(hashes.data(), counts.data(), hashes.size(), k);
  }
  groups::EncodedShard strings = groups::KeyEncoder<Key, Key>(k).encode(keys, counts);
  return {{}, std::move(strings.payload), {}, std::nullopt, strings.sizes};
}

/// Writes an index that stores all that was counted.
template <class Key>
void write_places(const std::string& path, const index::IndexParams& params, const KmerPlaces<Key>& places,
                  std::uint64_t records = 0, const index::Provenance& provenance = {}) {
  index::IndexWriter writer(path, params);
  index::Totals totals;
  index::Histogram histogram;
  std::optional<std::uint32_t> last;
  for (const auto& [place, count] : places) {
    ++histogram[count];
    totals.stored_kmers += count;
    totals.largest_count = std::max(totals.largest_count, count);
    if (place.first != last) writer.put(place.first, frozen(places, place.first, params.k));
    last = place.first;
  }
  totals.stored_distinct = totals.counted_distinct = places.size();
  totals.counted_kmers = totals.stored_kmers;
  totals.records = records;
  writer.finish(totals, histogram, provenance);
}

template <class Key>
KmerPlaces<Key> read_places(const index::IndexFile& file) {
  const std::uint32_t k = file.params().k;
  const groups::GroupKeys<Key, Key> keys(k);
  groups::GroupKmers<Key> kmers(k <= kMaxDenseK ? 1 : keys.shape().flank_bases());
  KmerPlaces<Key> places;
  for (std::uint32_t shard = 0; shard < file.params().shards(); ++shard) {
    const auto note = [&](Key key, std::uint64_t count) { places[{shard, key}] = count; };
    if (file.kmers(shard) == 0) continue;
    if (k <= kMaxDenseK) {
      REQUIRE(index::ShardReader(file.shard(shard), k).for_each_in_part(0, 0, note));
    } else {
      groups::for_each_key(file.strings(shard), keys, kmers, note);
    }
  }
  return places;
}

}  // namespace warpmer::tests
