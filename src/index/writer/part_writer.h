#pragma once
/// The part of an index that one of several processes has.

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "file/output/output_file.h"
#include "index/index_file.h"
#include "index/writer/kept_shards.h"
#include "index/writer/shard_output.h"

namespace warpmer::index {

/// Says which part that is, and where it goes.
struct PartOfIndex {
  ShardRange shards;
  std::string temporary;      ///< the first process's IndexWriter::temporary(); empty: a stream
  std::string tmp_directory;  ///< for what waits for its place and is more than `most_kept_bytes`
  std::uint64_t most_kept_bytes = UINT64_MAX;
};

/// Keeps the shards of a part, some in memory and the others in a temporary file
/// (index/writer/kept_shards.h), until their place is known: the parts before have to be complete. Then it
/// writes them to the file that the first process has made; or hands them over, where that writes a stream.
/// No shard is ever due.
class PartWriter : public ShardOutput {
 public:
  /// ResourceError when the file cannot be opened.
  PartWriter(const std::string& path, const IndexParams& params, const PartOfIndex& part);

  void put(std::uint32_t shard, FrozenShard&& frozen) override;
  void announce(std::uint32_t /*first*/, std::span<const ShardShape> /*shapes*/) override {}
  void announce(std::uint32_t /*first*/, std::span<const groups::ShardSizes> /*sizes*/) override {}
  [[nodiscard]] bool has_offset(std::uint32_t /*shard*/) const override { return false; }
  void leave_cache() noexcept override;

  // --- By one thread, when all shards are put: first the one, then one of the others.

  /// Returns the bytes that the shards take in the file.
  [[nodiscard]] std::uint64_t payload_bytes() const noexcept { return bytes_put_; }
  /// Writes the shards behind `bytes_before` of payload, and completes them on the disk. Returns what
  /// IndexWriter::adopt_part takes. InternalError when one is missing; ResourceError as IndexWriter::put.
  std::string write(std::uint64_t bytes_before);
  /// Hands the shards over, in order.
  void take(const std::function<void(std::uint32_t shard, FrozenShard&& frozen)>& take);

  [[nodiscard]] std::uint64_t bytes_written() const noexcept { return bytes_written_; }
  /// Returns the bytes that were written to the temporary file.
  [[nodiscard]] std::uint64_t bytes_spilled() { return kept_.bytes_spilled(); }

 private:
  const IndexParams params_;
  const ShardRange shards_;
  std::atomic<std::uint64_t> bytes_put_{0};
  std::uint64_t bytes_written_ = 0;
  KeptShards kept_;
  std::optional<file::OutputFile> file_;  ///< none: a part that is to be handed over
};

}  // namespace warpmer::index
