#include "index/writer/prepared_shard.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "file/checksum.h"
#include "index/shard_codec.h"

namespace warpmer::index {
namespace {

void check_number(std::uint32_t shard, const IndexParams& params) {
  if (shard >= params.shards())
    throw InternalError(fmt::format("there is no shard {} of {}", shard, params.shards()));
}

}  // namespace

layout::DirectoryEntry entry_for(std::uint32_t shard, const ShardShape& shape, std::uint64_t payload_words,
                                 const IndexParams& params) {
  check_number(shard, params);
  layout::DirectoryEntry entry;
  entry.shape = shape.entries == 0 ? ShardShape{} : shape;
  entry.payload_words = payload_words;
  if (const auto fault = layout::shape_fault(entry.shape, params.k, payload_words))
    throw InternalError(fmt::format("shard {} to be written has {}", shard, *fault));
  return entry;
}

layout::DirectoryEntry entry_for(std::uint32_t shard, const groups::ShardSizes& sizes,
                                 const IndexParams& params) {
  check_number(shard, params);
  if (const auto fault = layout::sizes_fault(sizes))
    throw InternalError(fmt::format("shard {} to be written has {}", shard, *fault));
  layout::DirectoryEntry entry;
  entry.payload_words = sizes.words;
  entry.sizes = sizes;
  return entry;
}

PreparedShard prepare(std::uint32_t shard, FrozenShard&& frozen, const IndexParams& params) {
  const std::uint64_t words = payload_words(frozen, params.k);
  PreparedShard prepared;
  prepared.shard = shard;
  prepared.payload = std::move(frozen.payload);
  prepared.source = std::move(frozen.source);
  if (layout::has_strings(params.k)) {
    prepared.entry = entry_for(shard, frozen.sizes, params);
    if (words != frozen.sizes.words)
      throw InternalError(
          fmt::format("shard {} to be written has {} words, not {}", shard, words, frozen.sizes.words));
  } else {
    prepared.entry = entry_for(shard, frozen.shape, words, params);
  }
  prepared.entry.checksum =
      frozen.checksum ? *frozen.checksum : file::checksum(prepared.payload.data(), prepared.held_bytes());
  return prepared;
}

}  // namespace warpmer::index
