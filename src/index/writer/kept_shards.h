#pragma once
/// Finished shards of an index that wait until their place in it is known.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "file/spill_file.h"
#include "index/index_layout.h"
#include "index/writer/prepared_shard.h"

namespace warpmer::index {

/// Keeps payloads in memory while they are few, and writes them to a temporary file, many at once, before
/// they are more than what is allowed; only a payload that is larger by itself is in memory until it is
/// written. One that has a source stays there. ResourceErrors as SpillFile has them.
class KeptShards {
 public:
  /// `directory` is where the temporary file goes, which is made when it is needed.
  KeptShards(std::string directory, std::uint64_t most_bytes);

  /// Takes a shard; several threads at once. A thread that finds too much in memory writes what there is, and
  /// the others wait for that only when it is too much again.
  void put(PreparedShard&& prepared);

  /// Gives all shards, in order, to one thread, when all are put. Shards in the file are read back one by
  /// one.
  void take_all(const std::function<void(PreparedShard&& prepared)>& take);

  /// Returns the bytes written to the temporary file.
  [[nodiscard]] std::uint64_t bytes_spilled();

 private:
  using Batch = std::vector<PreparedShard>;  ///< on their way to the file

  void spill(std::unique_lock<std::mutex>& lock);
  void write(const Batch& batch, std::uint64_t offset);
  Batch take_for_file();
  PreparedShard bring_back(std::uint32_t shard, const layout::DirectoryEntry& entry) const;
  void will_need(const layout::DirectoryEntry& entry) const;

  const std::string directory_;
  const std::uint64_t most_bytes_;

  std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::map<std::uint32_t, PreparedShard> in_memory_;
  std::uint64_t memory_bytes_ = 0;                           ///< bytes of these
  std::uint64_t in_writing_bytes_ = 0;                       ///< bytes of those that are being written
  std::map<std::uint32_t, layout::DirectoryEntry> in_file_;  ///< `offset` is that in the temporary file
  std::unique_ptr<file::SpillFile> file_;
  std::set<std::uint32_t> known_;
  std::optional<std::string> failure_;  ///< the first failed write; there is no way back from it
};

}  // namespace warpmer::index
