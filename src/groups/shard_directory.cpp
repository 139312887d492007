#include "groups/shard_directory.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "kmer/bit_stream.h"

namespace warpmer::groups {

namespace {

constexpr std::size_t kColumns = 6;
using Columns = std::array<std::uint64_t, kColumns>;

Columns columns_of(const ShardSizes& sizes) {
  return {sizes.kmers, sizes.groups, sizes.buckets, sizes.large_groups, sizes.offset_bits, sizes.words};
}
ShardSizes sizes_of(const Columns& columns) {
  return {columns[0], columns[1], columns[2], columns[3], columns[4], columns[5]};
}

}  // namespace

std::vector<std::uint64_t> pack_directory(std::span<const ShardEntry> shards) {
  Columns largest{};
  for (const ShardEntry& shard : shards) {
    const Columns columns = columns_of(shard.sizes);
    for (std::size_t c = 0; c < kColumns; ++c) largest[c] = std::max(largest[c], columns[c]);
  }
  std::vector<std::uint64_t> words(1);
  for (std::size_t c = 0; c < kColumns; ++c) {
    const std::uint32_t width = bits_of(largest[c]);
    words[0] |= std::uint64_t{width} << (8 * c);
    if (width == 0) continue;
    const std::size_t begin = words.size();
    words.resize(begin + words_for(shards.size(), width));
    BitWriter<> out(words.data() + begin);
    for (const ShardEntry& shard : shards) out.write(columns_of(shard.sizes)[c], width);
    out.flush();
  }
  for (const ShardEntry& shard : shards) words.push_back(shard.checksum);
  return words;
}

std::optional<std::string> unpack_directory(std::span<const std::uint64_t> words,
                                            std::span<ShardEntry> shards) {
  if (words.empty()) return "the directory is empty";
  std::array<std::uint32_t, kColumns> widths{};
  std::size_t expected = 1 + shards.size();
  for (std::size_t c = 0; c < kColumns; ++c) {
    widths[c] = static_cast<std::uint32_t>(words[0] >> (8 * c)) & 0xFF;
    if (widths[c] > (c == 4 ? 7u : 64u)) return "the directory has numbers that are too wide";
    expected += words_for(shards.size(), widths[c]);
  }
  if (words[0] >> (8 * kColumns) != 0) return "the directory has more columns than there are";
  if (words.size() != expected) return "the directory has not as many words as its columns take";

  // Readers of bits look behind the last field.
  std::vector<std::uint64_t> bits(words.begin() + 1, words.end());
  bits.resize(bits.size() + kReadAheadWords);
  std::vector<Columns> rows(shards.size());
  std::size_t begin = 0;
  for (std::size_t c = 0; c < kColumns; ++c) {
    const std::uint64_t used = shards.size() * widths[c];
    std::uint64_t largest = 0;
    for (std::size_t i = 0; i < shards.size(); ++i) {
      rows[i][c] = read_bits<std::uint64_t>(bits.data() + begin, i * widths[c], widths[c]);
      largest = std::max(largest, rows[i][c]);
    }
    if (bits_of(largest) != widths[c]) return "the directory has a column that is wider than its numbers";
    if (used % 64 != 0 && bits[begin + used / 64] >> (used % 64) != 0)
      return "the directory has bits behind a column";
    begin += words_for(shards.size(), widths[c]);
  }
  for (std::size_t i = 0; i < shards.size(); ++i) shards[i] = {sizes_of(rows[i]), bits[begin + i]};
  return std::nullopt;
}

}  // namespace warpmer::groups
