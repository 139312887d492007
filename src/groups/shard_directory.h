#pragma once
/// The sizes and checksums of all shards of a file, in as few bits as they need: a file of a million k-mers
/// has as many shards as one of a billion, and 48 bytes for each would be a sixth of it.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "groups/shard_layout.h"

namespace warpmer::groups {

/// The entry of one shard in a directory. Where its payload begins follows from the words of those before it.
struct ShardEntry {
  ShardSizes sizes;
  std::uint64_t checksum = 0;  ///< XXH3 of the payload

  friend bool operator==(const ShardEntry&, const ShardEntry&) = default;
};

/// Returns the words of a directory. A first word has the widths of the six sizes, a byte each: `kmers`,
/// `groups`, `buckets`, `large_groups`, `offset_bits`, `words`, in this order from the lowest byte; the two
/// bytes above are zero. A column for each size follows, one number for each shard, packed, each column from
/// a word on. The checksums come last, a word each.
[[nodiscard]] std::vector<std::uint64_t> pack_directory(std::span<const ShardEntry> shards);

/// Reads a directory of `shards.size()` shards from exactly its words. Returns what is wrong with it, as a
/// clause ("the directory has bits behind a column"), or nothing; on a fault `shards` are left as they are.
/// Widths are the least that do, so that equal content means equal words; of the sizes themselves nothing is
/// checked (shard_check.h does that, with the payload).
[[nodiscard]] std::optional<std::string> unpack_directory(std::span<const std::uint64_t> words,
                                                          std::span<ShardEntry> shards);

}  // namespace warpmer::groups
