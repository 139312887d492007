#pragma once
/// The k-mers of a frozen shard, whatever form it has.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "groups/shard_reader.h"
#include "index/frozen_shard.h"
#include "index/shard_codec.h"
#include "kmer/hash.h"
#include "kmer/kmer.h"

namespace warpmer::tests {

/// Calls `visit(kmer, count)` for the k-mers of a shard of strings, canonical ones if `canonical`. Its
/// payload has words behind it that readers may look at.
template <class Key, class Flanks, class Visit>
void for_each_in_strings(const index::FrozenShard& frozen, std::uint32_t shard, std::uint32_t k,
                         bool canonical, Visit&& visit) {
  const groups::GroupShape shape(k);
  const std::uint32_t n = shape.flank_bases();
  const std::vector<groups::FlankLengths> lengths = groups::make_length_table(n);
  const groups::ShardBits bits(shape, frozen.sizes, frozen.payload.data(), lengths.data());
  for (groups::GroupCursor<Flanks> group(bits); group.has_group(); group.next()) {
    const std::uint32_t id = shard << shape.rest_bits() | group.rest();
    const std::uint32_t mmer = GroupHash(shape.m).inverse(id);
    group.for_each_string([&](groups::FlankLengths string, Flanks left, Flanks right,
                              const groups::StringCounts& counts) {
      for (std::uint32_t layer = n - string.right; layer <= string.left; ++layer) {
        const groups::FlankedKmer<Flanks> flanked{mmer, layer, groups::flanks_at(left, right, layer, n)};
        const Key kmer = groups::kmer_of<Key>(flanked, shape);
        visit(canonical ? std::min(kmer, reverse_complement(kmer, k)) : kmer, counts[string.left - layer]);
      }
    });
  }
}

/// Calls `visit(text, count)` for the k-mers of a shard that is in memory.
template <class Visit>
void for_each_kmer(index::FrozenShard frozen, std::uint32_t shard, std::uint32_t k, bool canonical,
                   Visit&& visit) {
  const std::size_t words = frozen.payload.size();
  frozen.payload.resize(words + kReadAheadWords);
  with_key_type(k, [&](auto zero) {
    using Key = decltype(zero);
    std::string text(k, ' ');
    const auto pass_on = [&](Key kmer, std::uint64_t count) {
      kmer_to_text(kmer, k, text.data());
      visit(text, count);
    };
    if (frozen.has_strings()) {
      groups::with_flanks_type(k, [&](auto none) {
        for_each_in_strings<Key, decltype(none)>(frozen, shard, k, canonical, pass_on);
      });
      return;
    }
    const KmerHash<Key64> hash(k);
    REQUIRE(index::ShardReader({frozen.shape, frozen.payload.data(), words}, k)
                .for_each_in_part(
                    0, 0, [&](Key64 hashed, std::uint64_t count) { pass_on(hash.inverse(hashed), count); }));
  });
}

}  // namespace warpmer::tests
