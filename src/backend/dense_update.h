#pragma once
/// Updating for k <= 12, on any device: arrays of 4^k counts.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "backend/dense_counts.h"
#include "backend/update_session.h"
#include "index/shard_codec.h"
#include "kmer/hash.h"

namespace warpmer::backend {

/// `Session` counts what is added, or removed; `sums()` of it are the occurrences of every k-mer as read.
template <class Session>
class DenseUpdate : public UpdatingSession {
 public:
  /// Either may be null. `index` must outlive it.
  DenseUpdate(std::unique_ptr<Session> added, std::unique_ptr<Session> removed, const index::IndexFile& index)
      : index_(index), added_(std::move(added)), removed_(std::move(removed)) {}

  [[nodiscard]] CountingSession* added() override { return added_.get(); }
  [[nodiscard]] CountingSession* removed() override { return removed_.get(); }

  void finish(unsigned thread, const ShardSink& sink, const std::function<void()>& shard_done) override {
    if (thread != 0) return;
    const std::uint32_t k = index_.params().k;
    report_ = report_of_sessions();
    std::vector<std::uint64_t> counts = take(added_);
    const KmerHash<Key64> hash(k);
    index::for_each_entry(index_, 0, [&](Key64 h, std::uint64_t count) { counts[hash.inverse(h)] += count; });
    index_.release(0);
    if (removed_) subtract(take(removed_), counts);
    sink(0, freeze_dense(std::move(counts), k, false, tally_));
    shard_done();
  }

  [[nodiscard]] Tally tally() const override { return tally_; }
  [[nodiscard]] Shortfall shortfall() const override { return shortfall_; }
  [[nodiscard]] SessionReport report() override { return report_; }

 private:
  /// Returns what a session has counted, by the k-mers' names in the index; it is used up.
  [[nodiscard]] std::vector<std::uint64_t> take(std::unique_ptr<Session>& session) const {
    const std::uint32_t k = index_.params().k;
    if (!session) return std::vector<std::uint64_t>(std::size_t{1} << (2 * k));
    std::vector<std::uint64_t> counts = session->sums();
    session.reset();
    if (index_.params().canonical) fold_strands(counts, k);
    return counts;
  }

  void subtract(const std::vector<std::uint64_t>& removed, std::vector<std::uint64_t>& counts) {
    for (std::size_t kmer = 0; kmer < counts.size(); ++kmer) {
      if (removed[kmer] > counts[kmer]) shortfall_.note(counts[kmer], removed[kmer] - counts[kmer]);
      counts[kmer] -= std::min(counts[kmer], removed[kmer]);
    }
  }

  const index::IndexFile& index_;
  std::unique_ptr<Session> added_, removed_;
  Tally tally_;
  Shortfall shortfall_;
  SessionReport report_;
};

}  // namespace warpmer::backend
