#pragma once
/// The live table for k up to 12: an array of 4^k counts.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/live/gate.h"
#include "backend/live/live_table.h"
#include "backend/live/read_totals.h"
#include "base/buffer_pool.h"
#include "cpu/live/live_budget.h"
#include "cpu/lookup/finder.h"
#include "cpu/memory/huge_array.h"
#include "cpu/simd/stretch_finder.h"

namespace warpmer::cpu {

/// Counts of all k-mers, by their value; of canonical ones, if it is about those. A batch changes them at
/// once.
class DenseCounts {
 public:
  explicit DenseCounts(const KmerParams& kmers) : kmers_(kmers), counts_(std::size_t{1} << (2 * kmers.k)) {}

  [[nodiscard]] const KmerParams& kmers() const { return kmers_; }
  [[nodiscard]] std::span<const std::uint64_t> all() const {
    return {counts_.data(), std::size_t{1} << (2 * kmers_.k)};
  }
  [[nodiscard]] std::uint64_t* data() { return counts_.data(); }

  /// Readers do not keep a writer waiting that has come before them.
  [[nodiscard]] std::shared_lock<std::shared_mutex> lock_to_read() const {
    { const std::lock_guard turn(turn_); }
    return std::shared_lock(mutex_);
  }
  [[nodiscard]] std::unique_lock<std::shared_mutex> lock_to_write() const {
    const std::lock_guard turn(turn_);
    return std::unique_lock(mutex_);
  }

 private:
  const KmerParams kmers_;
  HugeArray<std::uint64_t> counts_;
  mutable std::mutex turn_;
  mutable std::shared_mutex mutex_;
};

class DenseLiveLookup : public backend::Lookup {
 public:
  DenseLiveLookup(const DenseCounts& counts, bool lenient, unsigned threads);

  void find_all(std::span<const std::string_view> texts, std::uint64_t* counts) const override;
  void profile(const io::Batch& batch, backend::Profile& out) const override;

 private:
  const DenseCounts& counts_;
  mutable BufferPool<StretchFinder> finders_;
};

class DenseLiveTable : public backend::LiveTable {
 public:
  explicit DenseLiveTable(const backend::LiveTablePlan& plan);

  std::uint64_t add(const io::Batch& batch, bool lenient) override;
  backend::Removal remove(const io::Batch& batch, bool lenient) override;
  [[nodiscard]] const backend::Lookup& lookup(bool lenient) const override {
    return lenient ? lenient_ : strict_;
  }
  [[nodiscard]] backend::Tally tally() override;
  [[nodiscard]] backend::LiveTotals totals() const override { return totals_.get(); }
  [[nodiscard]] std::unique_ptr<backend::LiveSnapshot> snapshot() override;
  [[nodiscard]] std::uint64_t memory_bytes() const override { return budget_.held(); }
  [[nodiscard]] std::string describe() const override {
    return "an array of counts, because there are few k-mers";
  }

 private:
  /// The k-mers of a batch.
  struct DenseChanger {
    DenseChanger(const backend::LiveTablePlan& plan, LiveBudget& budget);
    /// ResourceError where there is no memory for them.
    void cut(const io::Batch& batch, bool lenient, const KmerParams& kmers, LiveBudget& budget);

    StretchFinder strict, lenient;
    std::vector<std::uint32_t> kmers;
    LiveBytes bytes;
  };
  class DenseSnapshot;

  const backend::LiveTablePlan plan_;
  LiveBudget budget_;
  LiveBytes fixed_bytes_;
  DenseCounts counts_;
  backend::Gate gate_;
  backend::LiveReadTotals totals_;
  BufferPool<DenseChanger> changers_;
  const DenseLiveLookup strict_, lenient_;
};

}  // namespace warpmer::cpu
