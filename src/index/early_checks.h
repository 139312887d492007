#pragma once
/// Checking the shards of an index while a GPU's driver starts, which keeps one core busy.

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "index/index_file.h"

namespace warpmer::index {

/// Threads that check shards of an index that nobody has checked, from the first one on, until this goes or
/// all are checked. What they find wrong they keep to themselves: whoever asks for the shard finds it, too.
class EarlyChecks {
 public:
  /// So many threads, or fewer where the system has no room for them. `index` outlives this.
  EarlyChecks(const IndexFile& index, unsigned threads);
  /// Waits for the shards that are being checked.
  ~EarlyChecks();

  /// Returns whether no more shards will be taken: all have been, or one is damaged.
  [[nodiscard]] bool is_over() const noexcept { return is_over_ || next_ >= index_.params().shards(); }

  /// Returns the number of threads, at most `most`, that have enough to do; none for a small index.
  static unsigned useful_threads(const IndexFile& index, unsigned most);

 private:
  void work() noexcept;

  const IndexFile& index_;
  std::atomic<std::uint32_t> next_{0};
  std::atomic<bool> is_over_{false};
  std::vector<std::thread> threads_;
};

}  // namespace warpmer::index
