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

/// Returns the numbers of a batch. Bases that two pieces of a sequence share count once.
inline LiveTotals reads_of(const io::Batch& batch, std::uint32_t k) {
  LiveTotals reads;
  for (const io::Piece& piece : batch.pieces) {
    reads.records += piece.last ? 1 : 0;
    reads.bases += piece.new_bases(k);
  }
  return reads;
}

/// Thread-safe. Of an index that does not know its reads' numbers nothing is known later, either.
class LiveReadTotals {
 public:
  explicit LiveReadTotals(const index::IndexFile* base) {
    if (base == nullptr) return;
    knows_reads_ = index::knows_reads(base->totals());
    if (knows_reads_) totals_ = {base->totals().records, base->totals().bases};
  }

  void add(const io::Batch& batch, std::uint32_t k) {
    const LiveTotals more = reads_of(batch, k);
    const std::lock_guard lock(mutex_);
    if (!knows_reads_) return;
    totals_.records += more.records;
    totals_.bases += more.bases;
  }
  void remove(const io::Batch& batch, std::uint32_t k) {
    const LiveTotals less = reads_of(batch, k);
    const std::lock_guard lock(mutex_);
    totals_.records -= std::min(totals_.records, less.records);
    totals_.bases -= std::min(totals_.bases, less.bases);
  }
  [[nodiscard]] LiveTotals get() const {
    const std::lock_guard lock(mutex_);
    return totals_;
  }

 private:
  mutable std::mutex mutex_;  ///< guards what follows
  LiveTotals totals_;
  bool knows_reads_ = true;
};

}  // namespace warpmer::backend
