#include "index/writer/part_writer.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "index/writer/placed_shards.h"
#include "index/writer/prepared_shard.h"

namespace warpmer::index {

PartWriter::PartWriter(const std::string& path, const IndexParams& params, const PartOfIndex& part)
    : params_(params), shards_(part.shards), kept_(part.tmp_directory, part.most_kept_bytes) {
  if (!part.temporary.empty()) file_.emplace(path, file::OutputFile::PartOf{part.temporary});
}

void PartWriter::put(std::uint32_t shard, FrozenShard&& frozen) {
  PreparedShard prepared = prepare(shard, std::move(frozen), params_);
  bytes_put_ += prepared.bytes();
  kept_.put(std::move(prepared));
}

void PartWriter::leave_cache() noexcept {
  if (file_) file_->leave_cache();
}

std::string PartWriter::write(std::uint64_t bytes_before) {
  std::vector<layout::DirectoryEntry> entries;
  std::uint64_t end = layout::kHeaderBytes + bytes_before, held = 0;
  PlacedShards next{.offset = end, .payloads = {}, .source = {}};
  const auto write_next = [&] {
    file_->expect(bytes_put_);
    bytes_written_ += next.write(*file_);
    if (next.source) entries.back().checksum = next.checksum;
    next = {.offset = end, .payloads = {}, .source = {}};
    held = 0;
  };
  kept_.take_all([&](PreparedShard&& shard) {
    if (shard.shard != shards_.first + entries.size())
      throw InternalError(
          fmt::format("shard {} of a part of an index is missing", shards_.first + entries.size()));
    if (shard.source && held > 0) write_next();
    entries.push_back(shard.entry);
    entries.back().offset = end;
    end += shard.bytes();
    held += shard.held_bytes();
    next.source = std::move(shard.source);
    next.payloads.push_back(std::move(shard.payload));
    if (next.source || held >= kPlacedBytes) write_next();
  });
  if (held > 0) write_next();
  file_->complete();
  return {reinterpret_cast<const char*>(entries.data()), entries.size() * sizeof entries[0]};
}

void PartWriter::take(const std::function<void(std::uint32_t, FrozenShard&&)>& take) {
  kept_.take_all([&](PreparedShard&& shard) {
    take(shard.shard, {shard.entry.shape, std::move(shard.payload), std::move(shard.source), std::nullopt,
                       shard.entry.sizes});
  });
}

}  // namespace warpmer::index
