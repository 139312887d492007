#pragma once
/// Checks the shards of an index that are about to be looked up in.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>

#include "base/thread_team.h"
#include "index/index_file.h"

namespace warpmer::cpu {

/// The first reads that are looked up may want all shards, and there may be no more reads to keep other
/// threads busy meanwhile. So whoever comes first with many shards has them checked by a team; others share
/// in the work. Thread-safe.
class ShardChecks {
 public:
  /// Up to so many threads check. `index` must outlive this.
  ShardChecks(const index::IndexFile& index, unsigned threads) : index_(index), threads_(threads) {}

  /// Returns when the shards are checked. InputError for one that is damaged.
  void check(std::span<const std::uint32_t> shards) {
    const auto threads =
        static_cast<unsigned>(std::min<std::size_t>(threads_, shards.size() / kShardsOfThread));
    if (threads < 2 || has_team_.test_and_set()) return index_.check(shards);
    const TeamEnd end{has_team_};
    run_team(
        threads, [&](unsigned) { index_.check(shards); }, [] {});
  }

 private:
  /// A shard takes half a millisecond to check where there are 137,000 k-mers in it, and a thread a tenth of
  /// that to start.
  static constexpr std::size_t kShardsOfThread = 16;

  struct TeamEnd {
    std::atomic_flag& has_team;
    ~TeamEnd() { has_team.clear(); }
  };

  const index::IndexFile& index_;
  const unsigned threads_;
  std::atomic_flag has_team_;
};

}  // namespace warpmer::cpu
