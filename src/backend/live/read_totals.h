#pragma once
/// Numbers of the reads that are in a live table.

#include <algorithm>
#include <cstdint>
#include <mutex>

#include "backend/live/live_table.h"
#include "index/index_file.h"
#include "index/known_totals.h"
#include "io/text/batch.h"

namespace warpmer::backend {

/// Thread-safe. Of an index that does not know its reads' numbers nothing is known later, either.
class LiveReadTotals {
 public:
  explicit LiveReadTotals(const index::IndexFile* base) {
    if (base == nullptr) return;
    knows_reads_ = index::knows_reads(base->totals());
    if (knows_reads_) totals_ = {base->totals().records, base->totals().bases};
  }

  void add(const io::Batch& batch, std::uint32_t k) {
    const LiveTotals more = of(batch, k);
    const std::lock_guard lock(mutex_);
    if (!knows_reads_) return;
    totals_.records += more.records;
    totals_.bases += more.bases;
  }
  void remove(const io::Batch& batch, std::uint32_t k) {
    const LiveTotals less = of(batch, k);
    const std::lock_guard lock(mutex_);
    totals_.records -= std::min(totals_.records, less.records);
    totals_.bases -= std::min(totals_.bases, less.bases);
  }
  [[nodiscard]] LiveTotals get() const {
    const std::lock_guard lock(mutex_);
    return totals_;
  }

 private:
  static LiveTotals of(const io::Batch& batch, std::uint32_t k) {
    LiveTotals totals;
    for (const io::Piece& piece : batch.pieces) {
      totals.records += piece.last ? 1 : 0;
      totals.bases += piece.new_bases(k);
    }
    return totals;
  }

  mutable std::mutex mutex_;  ///< guards what follows
  LiveTotals totals_;
  bool knows_reads_ = true;
};

}  // namespace warpmer::backend
