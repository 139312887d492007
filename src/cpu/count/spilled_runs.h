#pragma once
/// Frozen runs that are in the spill file: how those of several shards get there in one large write, and how
/// a shard's come back, one after another.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "cpu/count/spilled_extents.h"
#include "file/checksum.h"
#include "file/spill_file.h"
#include "index/frozen_shard.h"
#include "kmer/bit_stream.h"

namespace warpmer::cpu {

/// Frozen k-mers in the spill file.
struct SpilledRun {
  groups::ShardSizes sizes;
  file::Spilled payload;  ///< has no bytes when there is none
};

/// Reads a run back, for readers that look past the end.
inline void read_run(file::SpillFile& file, const SpilledRun& spilled, index::FrozenShard& run) {
  run.sizes = spilled.sizes;
  run.payload.resize(spilled.payload.bytes / sizeof run.payload[0] + warpmer::kReadAheadWords);
  file.read(spilled.payload, run.payload.data());
}

/// The runs that a shard has in the spill file: a chain, of which only the last is known here. So a session
/// needs no more memory the more of them it spills.
struct SpilledRuns {
  /// Its payload has what is known of the run before it behind it.
  SpilledRun last;
  std::uint64_t entries = 0;        ///< entries of all runs, as they were added; a k-mer may be in several
  std::uint64_t largest_bytes = 0;  ///< most bytes of a run in memory
};

/// Gathers runs where they lie, and writes them together.
class RunBatch {
 public:
  /// Adds a run of so many entries to what the file will have of a shard. Until `write` has returned, both
  /// stay where they are.
  void add(SpilledRuns& shard, const index::FrozenShard& run, std::uint64_t entries) {
    runs_.push_back({&shard, &run, entries});
  }
  [[nodiscard]] bool is_empty() const { return runs_.empty(); }

  /// Writes them, to what it returns.
  Extent write(file::SpillFile& file) {
    std::vector<file::WritePiece> pieces;
    for (const Added& added : runs_) {
      pieces.push_back({added.run->payload.data(), added.run->payload.size() * sizeof(std::uint64_t)});
      pieces.push_back({&added.shard->last, sizeof added.shard->last});
    }
    const Extent written{file.allocate(file::bytes_of(pieces)), file::bytes_of(pieces)};
    std::uint64_t at = written.offset;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const std::span<const file::WritePiece> own(pieces.data() + 2 * i, 2);
      const index::FrozenShard& run = *runs_[i].run;
      runs_[i].spilled = {run.sizes, {at, file::bytes_of(own), file::checksum(own)}};
      at += runs_[i].spilled.payload.bytes;
    }
    file.write(written.offset, pieces);
    for (const Added& added : runs_) {
      SpilledRuns& shard = *added.shard;
      shard.last = added.spilled;
      shard.entries += added.entries;
      shard.largest_bytes = std::max(shard.largest_bytes, added.spilled.payload.bytes);
    }
    runs_.clear();
    return written;
  }

 private:
  struct Added {
    SpilledRuns* shard;
    const index::FrozenShard* run;
    std::uint64_t entries;
    SpilledRun spilled = {};
  };
  std::vector<Added> runs_;
};

/// Calls `visit(run)`, which may take it, for each of a shard's runs, which are read one at a time. The time
/// that takes is added to `read_seconds`.
template <class Visit>
void for_each_run(file::SpillFile& file, SpilledRun spilled, double& read_seconds, Visit&& visit) {
  while (spilled.payload.bytes > 0) {
    index::FrozenShard run;
    {
      const Stopwatch watch(read_seconds);
      read_run(file, spilled, run);
    }
    const std::size_t words = (spilled.payload.bytes - sizeof spilled) / sizeof run.payload[0];
    std::memcpy(static_cast<void*>(&spilled), run.payload.data() + words, sizeof spilled);
    visit(std::move(run));
  }
}

}  // namespace warpmer::cpu
