#pragma once
/// A live table that is too simple to be wrong: a std::map of k-mers as text, behind one lock. A snapshot is
/// a copy, so that nothing waits while there is one.

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "backend/live/live_table.h"
#include "backend/lookup/kmer_text.h"
#include "index/frozen_shard.h"
#include "io/text/batch.h"
#include "kmer/alphabet.h"
#include "oracle/naive_kmers.h"

namespace warpmer::tests {

class OracleTable : public backend::LiveTable {
 public:
  using Counts = std::map<std::string, std::uint64_t>;

  /// `counts`: k-mers to begin with.
  explicit OracleTable(const KmerParams& kmers, Counts counts = {}, backend::LiveTotals totals = {})
      : kmers_(kmers),
        counts_(std::move(counts)),
        totals_(totals),
        strict_(*this, kmers, false),
        lenient_(*this, kmers, true) {}

  std::uint64_t add(const io::Batch& batch, bool lenient) override {
    const Counts more = kmers_of(batch, lenient);
    const std::lock_guard lock(mutex_);
    add_naive_kmers(counts_, more);
    const backend::LiveTotals totals = totals_of(batch);
    totals_.records += totals.records;
    totals_.bases += totals.bases;
    return occurrences(more);
  }
  backend::Removal remove(const io::Batch& batch, bool lenient) override {
    const Counts less = kmers_of(batch, lenient);
    const std::lock_guard lock(mutex_);
    backend::Removal removal{occurrences(less), {}};
    for (const auto& [kmer, wanted] : less) {
      const std::uint64_t there = counts_.contains(kmer) ? counts_[kmer] : 0;
      if (wanted > there) removal.shortfall.note(there, wanted - there);
      if (wanted >= there) {
        counts_.erase(kmer);
      } else {
        counts_[kmer] = there - wanted;
      }
    }
    const backend::LiveTotals totals = totals_of(batch);
    totals_.records -= std::min(totals_.records, totals.records);
    totals_.bases -= std::min(totals_.bases, totals.bases);
    return removal;
  }
  [[nodiscard]] const backend::Lookup& lookup(bool lenient) const override {
    return lenient ? lenient_ : strict_;
  }
  [[nodiscard]] backend::Tally tally() override {
    const std::lock_guard lock(mutex_);
    backend::Tally tally;
    for (const auto& [kmer, count] : counts_) tally.note(count, 1);
    return tally;
  }
  [[nodiscard]] backend::LiveTotals totals() const override {
    const std::lock_guard lock(mutex_);
    return totals_;
  }
  /// Freezes by counting each k-mer as often as it is there, so they must not be many.
  [[nodiscard]] std::unique_ptr<backend::LiveSnapshot> snapshot() override {
    return std::make_unique<Snapshot>(*this);
  }
  [[nodiscard]] std::uint64_t memory_bytes() const override { return 0; }
  [[nodiscard]] std::string describe() const override { return "a map"; }

  [[nodiscard]] Counts counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

 private:
  class Questions : public backend::Lookup {
   public:
    Questions(const OracleTable& table, const KmerParams& kmers, bool lenient)
        : Lookup(kmers), table_(table), lenient_(lenient) {}

    void find_all(std::span<const std::string_view> texts, std::uint64_t* counts) const override {
      for (const std::string_view text : texts) backend::require_kmer(text, kmers().k);
      for (const std::string_view text : texts) *counts++ = table_.count_of(text);
    }
    void profile(const io::Batch& batch, backend::Profile& out) const override {
      static_cast<void>(table_.kmers_of(batch, lenient_));  // which refuses what is no nucleotide code
      lay_out(batch, out);
      bool is_wide = false;
      for (std::size_t i = 0; i < batch.pieces.size(); ++i) {
        const std::string_view bases = batch.bases(batch.pieces[i]);
        for (std::size_t at = out.first[i]; at < out.first[i + 1]; ++at) {
          const std::string_view kmer = bases.substr(at - out.first[i], kmers().k);
          const bool is_whole =
              std::all_of(kmer.begin(), kmer.end(), [](char c) { return char_class(c) == CharClass::base; });
          if (is_whole) out.counts[at] = backend::narrow_count(table_.count_of(kmer));
          is_wide = is_wide || out.counts[at] == backend::Profile::kLargeCount;
        }
      }
      if (is_wide) widen(batch, out);
    }

   private:
    const OracleTable& table_;
    const bool lenient_;
  };

  class Snapshot : public backend::LiveSnapshot {
   public:
    explicit Snapshot(const OracleTable& table)
        : kmers_(table.kmers_), counts_(table.counts()), totals_(table.totals()) {}

    void finish(unsigned thread, const backend::ShardSink& sink,
                const std::function<void()>& shard_done) override {
      if (thread != 0) return;
      backend::CountPlan plan;
      plan.kmers = kmers_;
      plan.memory_bytes = std::uint64_t{1} << 30;
      const auto backend = backend::make_cpu_backend();
      const auto session = backend->start(plan);
      io::Batch batch;
      for (const auto& [kmer, count] : counts_) {
        for (std::uint64_t i = 0; i < count; ++i) append(kmer, batch);
        session->add(batch, 0);
        batch.clear();
      }
      session->end_of_input(0);
      session->finish(0, sink, shard_done);
      tally_ = session->tally();
    }
    [[nodiscard]] backend::Tally tally() const override { return tally_; }
    [[nodiscard]] backend::LiveTotals totals() const override { return totals_; }

   private:
    static void append(const std::string& kmer, io::Batch& batch) {
      io::Piece piece;
      piece.record = batch.pieces.size() + 1;
      piece.offset = static_cast<std::uint32_t>(batch.text.size());
      piece.length = static_cast<std::uint32_t>(kmer.size());
      batch.text.append(kmer);
      batch.pieces.push_back(piece);
    }

    const KmerParams kmers_;
    const Counts counts_;
    const backend::LiveTotals totals_;
    backend::Tally tally_;
  };

  static std::uint64_t occurrences(const Counts& counts) {
    std::uint64_t sum = 0;
    for (const auto& [kmer, count] : counts) sum += count;
    return sum;
  }
  [[nodiscard]] backend::LiveTotals totals_of(const io::Batch& batch) const {
    backend::LiveTotals totals;
    for (const io::Piece& piece : batch.pieces) {
      if (piece.last) ++totals.records;
      totals.bases += piece.length;
      if (piece.first_base > 0) totals.bases -= std::min(piece.length, kmers_.k - 1);
    }
    return totals;
  }
  [[nodiscard]] Counts kmers_of(const io::Batch& batch, bool lenient) const {
    Counts all;
    for (const io::Piece& piece : batch.pieces) {
      const std::string_view bases = batch.bases(piece);
      for (std::size_t i = 0; i < bases.size() && !lenient; ++i) {
        if (char_class(bases[i]) == CharClass::invalid) io::throw_bad_base(batch, piece, i);
      }
      add_naive_kmers(all, naive_kmers(bases, static_cast<int>(kmers_.k), kmers_.canonical));
    }
    return all;
  }
  [[nodiscard]] std::uint64_t count_of(std::string_view kmer) const {
    const Counts named = naive_kmers(kmer, static_cast<int>(kmers_.k), kmers_.canonical);
    const std::lock_guard lock(mutex_);
    const auto at = counts_.find(named.begin()->first);
    return at == counts_.end() ? 0 : at->second;
  }

  const KmerParams kmers_;
  mutable std::mutex mutex_;  ///< guards what follows
  Counts counts_;
  backend::LiveTotals totals_;
  const Questions strict_, lenient_;
};

}  // namespace warpmer::tests
