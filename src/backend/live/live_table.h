#pragma once
/// K-mers with counts that change while they are asked for.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "backend/backend.h"
#include "backend/devices.h"
#include "backend/lookup/lookup.h"
#include "backend/tally.h"
#include "backend/update_session.h"
#include "base/error.h"
#include "index/index_file.h"
#include "index/known_totals.h"
#include "io/text/batch.h"
#include "kmer/kmer.h"

namespace warpmer::backend {

/// The hash tables that hold what is new. Counts and everything that is written do not depend on it.
enum class LiveScheme : std::uint8_t {
  automatic,
  warpdrive,
  slab,
  starfish,  ///< child tables that take turns in the memory of GPUs; there are none on a CPU
};

/// There is no room for what is to be added.
class LiveTableFull : public ResourceError {
 public:
  using ResourceError::ResourceError;
};

/// Says what a live table is to hold.
struct LiveTablePlan {
  KmerParams kmers;
  LiveScheme scheme = LiveScheme::automatic;
  unsigned threads = 1;            ///< threads that call it at once; more wait for their turn
  std::uint64_t memory_bytes = 0;  ///< the most that it may hold of the host's memory; else ResourceError
  /// The index that it begins with, or null. It has the same k and strand, and outlives the table. It is read
  /// from the mapped file where it has not changed.
  const index::IndexFile* base = nullptr;
  /// K-mers of a shard that have changed before it is frozen with them, at least; frozen k-mers take least
  /// memory. Tests have small numbers.
  std::size_t fold_kmers = 1024;
};

/// Numbers of what has been added and not been removed again.
struct LiveTotals {
  std::uint64_t records = 0;
  std::uint64_t bases = 0;
  bool are_known = true;  ///< else they are 0
};

/// Returns those of an index.
inline LiveTotals reads_of(const index::Totals& totals) {
  return {totals.records, totals.bases, index::knows_reads(totals)};
}

/// All counts, and the reads that they are of, at one moment.
struct LiveTally : Tally {
  LiveTotals reads;
};

/// Returns the totals of an index that has such counts, of such reads.
inline index::Totals totals_of(const Tally& tally, const LiveTotals& reads) {
  index::Totals totals = tally.totals();
  totals.records = reads.records;
  totals.bases = reads.bases;
  return totals;
}

/// The outcome of removing a batch.
struct Removal {
  std::uint64_t kmers = 0;  ///< occurrences of k-mers in the batch
  Shortfall shortfall;      ///< what was not there; counts end at 0
};

/// A table as it was at one moment. While it exists, additions and removals wait; questions do not.
class LiveSnapshot {
 public:
  virtual ~LiveSnapshot() = default;
  LiveSnapshot(const LiveSnapshot&) = delete;
  LiveSnapshot& operator=(const LiveSnapshot&) = delete;

  /// Does the same as CountingSession::finish: gives each shard to `sink` once, frozen as a count of the same
  /// reads would freeze it. Called concurrently, with a different `thread` each, of LiveTablePlan::threads.
  virtual void finish(unsigned thread, const ShardSink& sink, const std::function<void()>& shard_done) = 0;
  /// Returns totals and histogram of what `finish` has given, when all threads have returned from it.
  [[nodiscard]] virtual Tally tally() const = 0;
  [[nodiscard]] virtual LiveTotals totals() const = 0;

 protected:
  LiveSnapshot() = default;
};

/// A table of k-mers. Any number of threads may call all of it at once.
///
/// **Order.** What a call has done is seen by every call that begins after it has returned. Of calls side by
/// side, each k-mer's counts are as if they had been made one after another. `snapshot` and `tally` see a
/// batch as a whole or not at all.
///
/// **Errors.** A call that ends by an error (InputError for a character that is no nucleotide code,
/// ResourceError where there is no memory) leaves the table as if it had not been made; questions that are
/// asked beside it may see some of it. If that cannot be, the table is lost, and all calls that follow end by
/// a ResourceError.
class LiveTable {
 public:
  virtual ~LiveTable() = default;
  LiveTable(const LiveTable&) = delete;
  LiveTable& operator=(const LiveTable&) = delete;

  /// Adds all k-mers of a batch, and returns their number. `lenient` as in io::ReadingOptions.
  virtual std::uint64_t add(const io::Batch& batch, bool lenient) = 0;
  /// Takes all k-mers of a batch away, as often as they are in it.
  virtual Removal remove(const io::Batch& batch, bool lenient) = 0;

  /// Returns the way to ask for counts; it lives as long as the table.
  [[nodiscard]] virtual const Lookup& lookup(bool lenient) const = 0;

  /// Returns totals and histogram as they are now. Reads all of the table; additions wait.
  [[nodiscard]] virtual LiveTally tally() = 0;
  [[nodiscard]] virtual LiveTotals totals() const = 0;
  /// Waits for additions and removals that have begun. Of several snapshots one exists at a time.
  [[nodiscard]] virtual std::unique_ptr<LiveSnapshot> snapshot() = 0;

  /// Bytes that it holds now.
  [[nodiscard]] virtual std::uint64_t memory_bytes() const = 0;
  /// Says which tables it uses and why, in a few words.
  [[nodiscard]] virtual std::string describe() const = 0;

 protected:
  LiveTable() = default;
};

/// Implemented in src/cpu/live.
std::unique_ptr<LiveTable> make_cpu_live_table(const LiveTablePlan& plan);

/// Holds the table in hash tables in the memory of the GPUs of `devices`, each of which has a range of
/// shards; one that is named several times acts as several. A k-mer that occurs more than about 2^32 times is
/// a ResourceError. Implemented in kernels/live, and in no_cuda_live.cpp for builds without CUDA.
/// ResourceError when a GPU cannot be used, or k is at most kMaxDenseK.
std::unique_ptr<LiveTable> make_cuda_live_table(const LiveTablePlan& plan, const Devices& devices);

}  // namespace warpmer::backend
