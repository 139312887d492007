#pragma once
/// K-mers of one shard in a map, and the shard that they make.

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "groups/path_cover.h"
#include "groups/shard_bits.h"
#include "groups/shard_encoder.h"

namespace warpmer::tests {

/// K-mers of one shard, by group, layer and flanks.
template <class Flanks>
using Content = std::map<std::tuple<std::uint32_t, std::uint32_t, Flanks>, std::uint64_t>;

template <class Flanks>
groups::EncodedShard encode(std::uint32_t k, const Content<Flanks>& content) {
  const groups::GroupShape shape(k);
  groups::ShardEncoder<Flanks> encoder(k);
  groups::PathCover<Flanks> cover(shape.flank_bases());
  encoder.begin();
  std::vector<Flanks> flanks;
  std::vector<std::uint64_t> counts;
  for (auto at = content.begin(); at != content.end();) {
    const std::uint32_t rest = std::get<0>(at->first);
    std::vector<std::uint32_t> begins(shape.flank_bases() + 2);
    flanks.clear();
    counts.clear();
    for (; at != content.end() && std::get<0>(at->first) == rest; ++at) {
      flanks.push_back(std::get<2>(at->first));
      counts.push_back(at->second);
      for (std::uint32_t layer = std::get<1>(at->first) + 1; layer < begins.size(); ++layer) ++begins[layer];
    }
    encoder.add_group(rest, [&](auto& strings, auto& string_counts) {
      return cover.cover(flanks, counts, begins.data(), strings, string_counts);
    });
  }
  return encoder.finish();
}

/// The shard as it is in a file, with what may be read behind it.
template <class Flanks>
struct Shard {
  groups::GroupShape shape;
  groups::EncodedShard encoded;
  std::vector<groups::FlankLengths> lengths;

  Shard(std::uint32_t k, const Content<Flanks>& content)
      : shape(k), encoded(encode(k, content)), lengths(groups::make_length_table(shape.flank_bases())) {
    encoded.payload.resize(encoded.payload.size() + kReadAheadWords, ~std::uint64_t{0});
  }
  [[nodiscard]] groups::ShardBits view() const {
    return {shape, encoded.sizes, encoded.payload.data(), lengths.data()};
  }
};

}  // namespace warpmer::tests
