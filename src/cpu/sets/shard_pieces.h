#pragma once
/// An index cut into pieces of about the same size, in order: what a thread makes text of at a time.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace warpmer::cpu {

/// Some whole shards, or one of 2^part_bits parts of a shard.
struct ShardPiece {
  std::uint32_t first_shard = 0;
  std::uint32_t shards = 1;
  std::uint32_t part_bits = 0;
  std::uint64_t part = 0;
};

/// Returns into how many parts, as a power of two, entries are to be divided so that about `wanted` are in
/// each; at most 2^most_bits parts.
inline std::uint32_t part_bits_of(std::uint64_t entries, std::uint64_t wanted, std::uint32_t most_bits) {
  return entries <= wanted
             ? 0
             : std::min(static_cast<std::uint32_t>(std::bit_width((entries - 1) / wanted)), most_bits);
}

/// Returns all shards in pieces of up to about `wanted` entries, a shard in at most 2^most_bits;
/// `entries_of(shard)` says how many a shard has.
template <class EntriesOf>
std::vector<ShardPiece> cut_into_pieces(std::uint32_t shards, std::uint64_t wanted, std::uint32_t most_bits,
                                        EntriesOf&& entries_of) {
  std::vector<ShardPiece> pieces;
  std::uint64_t in_last = wanted;  // entries of the last piece; full, to begin with
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    const std::uint64_t entries = entries_of(shard);
    if (in_last + entries <= wanted && !pieces.empty()) {
      ++pieces.back().shards;
      in_last += entries;
      continue;
    }
    const std::uint32_t part_bits = part_bits_of(entries, wanted, most_bits);
    for (std::uint64_t part = 0; part < std::uint64_t{1} << part_bits; ++part)
      pieces.push_back({shard, 1, part_bits, part});
    in_last = part_bits == 0 ? entries : wanted;
  }
  return pieces;
}

}  // namespace warpmer::cpu
