#pragma once
/// Strings from packed entries, and the other way: for what does not work on strings yet.

#include <cstdint>
#include <memory>
#include <vector>

#include "groups/shard_bits.h"
#include "index/frozen_shard.h"
#include "index/index_file.h"

namespace warpmer::index {

/// Returns a shard of entries as strings. InternalError for a k-mer that is not of this shard.
[[nodiscard]] FrozenShard strings_of(FrozenShard&& entries, std::uint32_t shard, const IndexParams& params);

/// Returns the entries of strings.
[[nodiscard]] FrozenShard entries_of(const groups::ShardBits& strings, std::uint32_t shard,
                                     const IndexParams& params);

/// All shards of an index of strings as entries, one behind the other.
class EntryImage {
 public:
  explicit EntryImage(const IndexFile& index);

  [[nodiscard]] const ShardShape& shape(std::uint32_t shard) const { return shapes_[shard]; }
  [[nodiscard]] ShardView view(std::uint32_t shard) const {
    return {shapes_[shard], words_.data() + begins_[shard], begins_[shard + 1] - begins_[shard]};
  }
  [[nodiscard]] const std::uint64_t* words() const { return words_.data(); }

 private:
  std::vector<ShardShape> shapes_;
  std::vector<std::size_t> begins_;
  std::vector<std::uint64_t> words_;
};

}  // namespace warpmer::index
