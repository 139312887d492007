#pragma once
/// Numbers of the reads that are in a live table.

#include <cstdint>
#include <mutex>

#include "backend/live/live_table.h"
#include "index/index_file.h"
#include "io/text/batch.h"

namespace warpmer::backend {

/// Returns the numbers of a batch. Bases that two pieces of a sequence share count once.
inline LiveTotals reads_of(const io::Batch& batch, std::uint32_t k) {
  LiveTotals reads;
  for (const io::Piece& piece : batch.pieces) {
    reads.records += piece.last ? 1 : 0;
    reads.bases += piece.new_bases(k);
  }
  return reads;
}

/// Thread-safe. What is added to an index that does not know its reads' numbers does not know them, either,
/// nor does a table from which more was to be removed than there was.
class LiveReadTotals {
 public:
  /// `before`: of what the table begins with; null: it is empty.
  template <class Before>
  explicit LiveReadTotals(const Before* before)
      : LiveReadTotals(before == nullptr ? index::Totals{} : before->totals()) {}

  void add(const io::Batch& batch, std::uint32_t k) {
    const LiveTotals more = reads_of(batch, k);
    const std::lock_guard lock(mutex_);
    if (!totals_.are_known) return;
    totals_.records += more.records;
    totals_.bases += more.bases;
  }
  void remove(const io::Batch& batch, std::uint32_t k, const Removal& done) {
    const LiveTotals less = reads_of(batch, k);
    const Shortfall& missing = done.shortfall;
    const bool is_nothing = missing.absent_occurrences + missing.short_occurrences == done.kmers;
    const std::lock_guard lock(mutex_);
    // From an empty table nothing is removed.
    if (!totals_.are_known || (is_nothing && totals_.records == 0 && totals_.bases == 0)) return;
    if (!missing.is_none() || less.records > totals_.records || less.bases > totals_.bases) {
      totals_ = {.are_known = false};
      return;
    }
    totals_.records -= less.records;
    totals_.bases -= less.bases;
  }
  [[nodiscard]] LiveTotals get() const {
    const std::lock_guard lock(mutex_);
    return totals_;
  }

 private:
  explicit LiveReadTotals(const index::Totals& before) : totals_(reads_of(before)) {}

  mutable std::mutex mutex_;  ///< guards what follows
  LiveTotals totals_;
};

}  // namespace warpmer::backend
