#include "backend/live/outgrowing_table.h"

#include <fmt/format.h>

#include <exception>
#include <span>
#include <string_view>
#include <utility>

#include "backend/live/gate.h"
#include "base/error.h"
#include "base/thread_team.h"
#include "base/warning.h"

namespace warpmer::backend {

namespace {

/// A snapshot of the table that stands there: it is not replaced meanwhile.
class PinnedSnapshot : public LiveSnapshot {
 public:
  template <class Take>
  PinnedSnapshot(Gate& changes, Take&& take) : no_changes_(changes, true), snapshot_(take()) {}

  void finish(unsigned thread, const ShardSink& sink, const std::function<void()>& shard_done) override {
    snapshot_->finish(thread, sink, shard_done);
  }
  [[nodiscard]] Tally tally() const override { return snapshot_->tally(); }
  [[nodiscard]] LiveTotals totals() const override { return snapshot_->totals(); }

 private:
  const Gate::Stop no_changes_;
  const std::unique_ptr<LiveSnapshot> snapshot_;
};

class OutgrowingTable : public LiveTable {
 public:
  OutgrowingTable(std::unique_ptr<LiveTable> table, LargerTable larger, const KmerParams& kmers,
                  unsigned threads)
      : kmers_(kmers),
        threads_(threads),
        larger_(std::move(larger)),
        table_(std::move(table)),
        lookup_(*this, false),
        lenient_lookup_(*this, true) {}

  std::uint64_t add(const io::Batch& batch, bool lenient) override {
    std::uint64_t kmers = 0;
    while (!try_to_add(batch, lenient, kmers)) outgrow();
    return kmers;
  }
  Removal remove(const io::Batch& batch, bool lenient) override {
    const Gate::Pass change(changes_);
    return table().remove(batch, lenient);
  }

  [[nodiscard]] const Lookup& lookup(bool lenient) const override {
    return lenient ? lenient_lookup_ : lookup_;
  }

  [[nodiscard]] LiveTally tally() override {
    const Gate::Pass question(questions_);
    return table().tally();
  }
  [[nodiscard]] LiveTotals totals() const override {
    const Gate::Pass question(questions_);
    return table().totals();
  }
  [[nodiscard]] std::unique_ptr<LiveSnapshot> snapshot() override {
    return std::make_unique<PinnedSnapshot>(changes_, [&] { return table().snapshot(); });
  }
  [[nodiscard]] std::uint64_t memory_bytes() const override {
    const Gate::Pass question(questions_);
    return table().memory_bytes();
  }
  [[nodiscard]] std::string describe() const override {
    const Gate::Pass question(questions_);
    std::string text = table().describe();
    if (state_ == Outgrowth::possible)
      text += fmt::format("; {} take its place when it is full", larger_.name);
    return text;
  }

 private:
  enum class Outgrowth : std::uint8_t {
    possible,
    impossible,  ///< `why_` says why
    done,
    lost,  ///< there is no table; `why_` says why
  };

  /// Asks the table that stands there.
  class CurrentLookup : public Lookup {
   public:
    CurrentLookup(const OutgrowingTable& owner, bool lenient)
        : Lookup(owner.kmers_), owner_(owner), lenient_(lenient) {}

    void find_valid(std::span<const std::string_view> texts, std::uint64_t* counts) const override {
      const Gate::Pass question(owner_.questions_);
      current().find_valid(texts, counts);
    }
    void profile(const io::Batch& batch, Profile& out) const override {
      const Gate::Pass question(owner_.questions_);
      current().profile(batch, out);
    }
    void summarise(const io::Batch& batch, BatchSummary& out) const override {
      const Gate::Pass question(owner_.questions_);
      current().summarise(batch, out);
    }
    [[nodiscard]] unsigned callers(unsigned threads) const override {
      const Gate::Pass question(owner_.questions_);
      return current().callers(threads);
    }

   private:
    [[nodiscard]] const Lookup& current() const { return owner_.table().lookup(lenient_); }

    const OutgrowingTable& owner_;
    const bool lenient_;
  };

  [[nodiscard]] LiveTable& table() const {
    if (state_ == Outgrowth::lost) throw ResourceError(why_);
    return *table_;
  }

  /// False: there is no room, and it has not been tried yet to make a larger table.
  bool try_to_add(const io::Batch& batch, bool lenient, std::uint64_t& kmers) {
    const Gate::Pass change(changes_);
    try {
      kmers = table().add(batch, lenient);
      return true;
    } catch (const LiveTableFull& full) {
      if (state_ == Outgrowth::possible) return false;
      if (state_ == Outgrowth::done) throw;
      throw ResourceError(
          fmt::format("{}; {} could not take its place: {}", full.what(), larger_.name, why_));
    }
  }

  /// Puts the larger table in the place of this one, unless another caller has done so, or has found that it
  /// cannot be done.
  void outgrow() {
    {
      const Gate::Stop no_changes(changes_, true);
      if (state_ != Outgrowth::possible) return;
      KeptKmers kept(kmers_);
      const std::string why_not = try_to_freeze(kept);
      const Gate::Stop no_questions(questions_);
      if (why_not.empty()) {
        replace(kept);
      } else {
        state_ = Outgrowth::impossible;
        why_ = why_not;
      }
      if (state_ != Outgrowth::done) return;
    }
    warn(fmt::format("the live table was full; it is now {}", describe()));
  }

  /// Returns why it cannot be done, or nothing.
  std::string try_to_freeze(KeptKmers& kept) {
    try {
      larger_.check_room(table_->tally().totals().counted_distinct, 0);
      const auto snapshot = table_->snapshot();
      const ShardSink sink(
          [&](std::uint32_t shard, index::FrozenShard&& frozen) { kept.keep(shard, std::move(frozen)); });
      run_team(
          threads_, [&](unsigned thread) { snapshot->finish(thread, sink, [] {}); }, [] {});
      const index::Totals totals = totals_of(snapshot->tally(), snapshot->totals());
      kept.set_totals(totals);
      larger_.check_room(totals.counted_distinct, kept.bytes());
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  }

  void replace(const KeptKmers& kept) {
    table_.reset();
    try {
      table_ = larger_.make(kept);
      state_ = Outgrowth::done;
    } catch (const std::exception& error) {
      state_ = Outgrowth::impossible;
      why_ = error.what();
    }
    if (table_ != nullptr) return;
    try {
      table_ = larger_.remake(kept);
    } catch (const std::exception& error) {
      state_ = Outgrowth::lost;
      why_ = fmt::format("the live table is lost: it was full, {} could not take its place ({}), and then {}",
                         larger_.name, why_, error.what());
    }
  }

  const KmerParams kmers_;
  const unsigned threads_;
  const LargerTable larger_;
  /// The members below change while nobody passes either of them.
  mutable Gate changes_, questions_;
  std::unique_ptr<LiveTable> table_;
  Outgrowth state_ = Outgrowth::possible;
  std::string why_;
  const CurrentLookup lookup_, lenient_lookup_;
};

}  // namespace

std::unique_ptr<LiveTable> make_outgrowing_table(std::unique_ptr<LiveTable> table, LargerTable larger,
                                                 const KmerParams& kmers, unsigned threads) {
  return std::make_unique<OutgrowingTable>(std::move(table), std::move(larger), kmers, threads);
}

}  // namespace warpmer::backend
