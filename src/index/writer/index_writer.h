#pragma once
/// Writing an index file.

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "file/output/output_file.h"
#include "index/index_file.h"
#include "index/writer/placed_shards.h"
#include "index/writer/shard_output.h"
#include "index/writer/shard_places.h"

namespace warpmer::index {

/// Writes an index that gets the name `path` when it is complete ("-": standard output, streamed). Destroyed
/// before `finish` has returned, it leaves nothing behind. Shards are laid out in shard order whatever the
/// order of calls; those never put are empty. Of several processes that write one file the first has it
/// (index/writer/part_writer.h is for the others).
class IndexWriter : public ShardOutput {
 public:
  /// `writers` is how many threads will call `put` at once. ResourceError (with the path) when the file
  /// cannot be created.
  IndexWriter(const std::string& path, const IndexParams& params, unsigned writers = 1);

  void put(std::uint32_t shard, FrozenShard&& frozen) override;
  /// In a stream shards have to wait for others in any case: none is ever due.
  void announce(std::uint32_t first, std::span<const ShardShape> shapes) override;
  void announce(std::uint32_t first, std::span<const groups::ShardSizes> sizes) override;
  [[nodiscard]] bool has_offset(std::uint32_t shard) const override;
  void leave_cache() noexcept override { file_.leave_cache(); }
  std::vector<std::uint64_t> take_spare() override;
  void wait_for_place(std::uint32_t shard, std::uint64_t most_bytes) const override {
    places_.wait_for_place(shard, most_bytes);
  }
  void cancel_waiting() noexcept override { places_.cancel_waiting(); }

  /// Writes what remains and gives the file its name. All errors of the file system surface here.
  void finish(const Totals& totals, const Histogram& histogram, const Provenance& provenance);

  [[nodiscard]] std::uint64_t bytes_written() const noexcept { return bytes_written_; }
  /// Returns the bytes of frozen shards waiting for an earlier shard, or to be written (for the memory plan).
  [[nodiscard]] std::uint64_t bytes_waiting() const noexcept { return places_.bytes_waiting(); }

  // --- For the first of several processes. All are called by one thread, when all shards are put.

  /// See OutputFile::temporary.
  [[nodiscard]] const std::string& temporary() { return file_.temporary(); }
  /// Returns the bytes that the shards put so far take in the file.
  [[nodiscard]] std::uint64_t payload_bytes() const noexcept { return bytes_put_; }
  /// Takes over what PartWriter::write of the process whose shards come next has returned. InternalError when
  /// it does not fit.
  void adopt_part(const std::string& part);

 private:
  void announce_entries(std::uint32_t first, std::span<const layout::DirectoryEntry> entries);
  void write_placed(std::unique_lock<std::mutex>& lock);
  void write_due(PreparedShard&& shard, std::unique_lock<std::mutex>& lock);
  void write_shards(PlacedShards& shards, std::unique_lock<std::mutex>& lock);
  void keep_spares(PlacedShards& shards);
  void write(std::uint64_t offset, const std::string& bytes);
  void append_section(std::uint64_t& end, const std::string& bytes, layout::Section& section);
  void start_stream();
  [[nodiscard]] std::uint64_t expected_bytes() const;

  const IndexParams params_;
  const std::size_t most_spares_;  ///< number that is kept even beyond what has waited at a time
  std::atomic<std::uint64_t> bytes_written_{0};
  std::atomic<std::uint64_t> bytes_put_{0};

  mutable std::mutex mutex_;  ///< guards all that follows, but for what ShardPlaces lets any thread ask
  ShardPlaces places_;
  std::vector<std::vector<std::uint64_t>> spares_;  ///< written, and of no more use
  std::uint64_t spare_bytes_ = 0;
  bool spares_are_taken_ = false;  ///< true when a thread takes them; else they are not kept
  std::uint32_t shards_put_ = 0;
  std::uint64_t largest_put_ = 0;  ///< bytes
  bool started_ = false;           ///< the header is written
  bool finished_ = false;
  std::exception_ptr failure_;  ///< the first, of a write or of a source; there is no way back from it
  file::OutputFile file_;
};

}  // namespace warpmer::index
