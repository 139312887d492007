#pragma once
/// The order of an index's shards: which have their place in the file, and which wait for others.

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "index/index_file.h"
#include "index/index_layout.h"
#include "index/writer/placed_shards.h"
#include "index/writer/prepared_shard.h"

namespace warpmer::index {

/// Lays shards out one behind the other, in order, whatever the order in which they come. A shard has its
/// place when those before it have come or are announced. One thread at a time calls it, but for what says
/// otherwise.
class ShardPlaces {
 public:
  explicit ShardPlaces(const IndexParams& params) : params_(params), directory_(params.shards()) {}

  /// Announces consecutive shards, which are going to come.
  void announce(std::uint32_t first, std::span<const layout::DirectoryEntry> entries);
  /// Takes a shard. InternalError for one that came before. It must not be one that is due.
  void put(PreparedShard&& shard);
  /// Returns the entry of a shard that was announced, has its place, and now comes.
  layout::DirectoryEntry& take_due(const PreparedShard& shard);
  /// True when a shard was announced and has its place, and has not come.
  [[nodiscard]] bool is_due(std::uint32_t shard) const { return due_.contains(shard); }
  /// Takes an entry whose shard another process has written, behind all that have come.
  void adopt(const layout::DirectoryEntry& entry);

  /// Gives all shards that have not come a place; they are empty. InternalError when one was announced.
  void place_rest();

  /// True when there are shards to be written.
  [[nodiscard]] bool has_placed() const { return !placed_.empty(); }
  /// Takes the first of them: one, or some small ones that lie side by side.
  PlacedShards take_placed();

  [[nodiscard]] const std::vector<layout::DirectoryEntry>& directory() const { return directory_; }
  void set_checksum(std::uint32_t shard, std::uint64_t checksum) { directory_[shard].checksum = checksum; }
  /// Returns where the payloads end that have their places.
  [[nodiscard]] std::uint64_t end() const { return end_; }

  /// Returns the bytes of shards that wait in memory for a place or to be written, and the most there were.
  /// Any thread may ask for the first.
  [[nodiscard]] std::uint64_t bytes_waiting() const { return bytes_waiting_; }
  [[nodiscard]] std::uint64_t most_waiting() const { return most_waiting_; }
  /// Waits as ShardOutput::wait_for_place says; any thread may.
  void wait_for_place(std::uint32_t shard, std::uint64_t most_bytes) const;
  void cancel_waiting() noexcept;

 private:
  std::uint64_t take_place(layout::DirectoryEntry entry);
  void place(PreparedShard&& shard);
  void place_leading();
  void note_change() noexcept;

  const IndexParams params_;
  std::vector<layout::DirectoryEntry>
      directory_;                             ///< those of the first `next_`; some lack their checksums yet
  std::atomic<std::uint32_t> next_ = 0;       ///< the shard that is to be placed next
  std::uint64_t end_ = layout::kHeaderBytes;  ///< place that it goes to
  std::map<std::uint32_t, PreparedShard> waiting_;
  std::map<std::uint32_t, layout::DirectoryEntry> expected_;  ///< neither put nor placed
  std::set<std::uint32_t> due_;                               ///< placed, to be put
  std::deque<PreparedShard> placed_;  ///< shards in order, to be written by any thread that comes
  std::atomic<std::uint64_t> bytes_waiting_{0};
  std::uint64_t most_waiting_ = 0;
  std::atomic<std::uint32_t> changes_{0};  ///< number of changes of what `wait_for_place` looks at
  std::atomic<bool> is_waiting_cancelled_{false};
};

}  // namespace warpmer::index
