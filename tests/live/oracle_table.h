#pragma once
/// A live table that is too simple to be wrong: a std::map of k-mers as text, behind one lock. A snapshot is
/// a copy, so that nothing waits while there is one.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "backend/live/live_table.h"
#include "io/text/batch.h"
#include "kmer/alphabet.h"
#include "kmer/kmer.h"
#include "kmer_index.h"
#include "oracle/naive_kmers.h"

namespace warpmer::tests {

/// Returns k-mers by their places in an index.
template <class Key>
KmerPlaces<Key> places_in(const std::map<std::string, std::uint64_t>& counts, const KmerParams& kmers) {
  const index::IndexParams params = params_of(kmers.k, kmers.canonical);
  KmerPlaces<Key> places;
  for (const auto& [text, count] : counts) {
    Key kmer = 0;
    kmer_from_text(text, kmer);
    places[place_of(kmer, params)] = count;
  }
  return places;
}

/// A copy of an OracleTable.
template <class Key>
class OracleSnapshot : public backend::LiveSnapshot {
 public:
  OracleSnapshot(const KmerParams& kmers, const std::map<std::string, std::uint64_t>& counts,
                 backend::Tally tally, const backend::LiveTotals& totals)
      : params_(params_of(kmers.k, kmers.canonical)),
        places_(places_in<Key>(counts, kmers)),
        tally_(std::move(tally)),
        totals_(totals) {}

  void finish(unsigned /*thread*/, const backend::ShardSink& sink,
              const std::function<void()>& shard_done) override {
    for (std::uint32_t shard; (shard = next_++) < params_.shards(); shard_done())
      sink(shard, frozen(places_, shard, params_.k));
  }
  [[nodiscard]] backend::Tally tally() const override { return tally_; }
  [[nodiscard]] backend::LiveTotals totals() const override { return totals_; }

 private:
  const index::IndexParams params_;
  const KmerPlaces<Key> places_;
  const backend::Tally tally_;
  const backend::LiveTotals totals_;
  std::atomic<std::uint32_t> next_{0};
};

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

  std::size_t most_kmers = SIZE_MAX;  ///< with more it is full

  /// Gives a k-mer a count, for those that no test can reach.
  void set(const std::string& kmer, std::uint64_t count) { counts_[name_of(kmer)] = count; }

  std::uint64_t add(const io::Batch& batch, bool lenient) override {
    const Counts more = kmers_of(batch, lenient);
    const std::lock_guard lock(mutex_);
    const auto fresh =
        std::ranges::count_if(more, [this](const auto& each) { return !counts_.contains(each.first); });
    if (counts_.size() + static_cast<std::size_t>(fresh) > most_kmers)
      throw backend::LiveTableFull(describe() + " is full");
    add_naive_kmers(counts_, more);
    const backend::LiveTotals totals = totals_of(batch);
    if (totals_.are_known) {
      totals_.records += totals.records;
      totals_.bases += totals.bases;
    }
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
    const backend::Shortfall& missing = removal.shortfall;
    const bool was_empty = totals_.are_known && totals_.records == 0 && totals_.bases == 0 &&
                           missing.absent_occurrences + missing.short_occurrences == removal.kmers;
    const bool has_all =
        missing.is_none() && totals.records <= totals_.records && totals.bases <= totals_.bases;
    if (!totals_.are_known || was_empty) return removal;
    if (has_all) {
      totals_.records -= totals.records;
      totals_.bases -= totals.bases;
    } else {
      totals_ = {.are_known = false};
    }
    return removal;
  }
  [[nodiscard]] const backend::Lookup& lookup(bool lenient) const override {
    return lenient ? lenient_ : strict_;
  }
  [[nodiscard]] backend::LiveTally tally() override {
    const std::lock_guard lock(mutex_);
    return {tally_of(counts_), totals_};
  }
  [[nodiscard]] backend::LiveTotals totals() const override {
    const std::lock_guard lock(mutex_);
    return totals_;
  }
  [[nodiscard]] std::unique_ptr<backend::LiveSnapshot> snapshot() override {
    const std::lock_guard lock(mutex_);
    return with_key_type(kmers_.k, [this]<class Key>(Key) -> std::unique_ptr<backend::LiveSnapshot> {
      return std::make_unique<OracleSnapshot<Key>>(kmers_, counts_, tally_of(counts_), totals_);
    });
  }
  [[nodiscard]] std::uint64_t memory_bytes() const override { return 4711; }
  [[nodiscard]] std::string describe() const override {
    return most_kmers == SIZE_MAX ? "a map" : "a small map";
  }

  [[nodiscard]] Counts counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

 private:
  class Questions : public backend::Lookup {
   public:
    Questions(const OracleTable& table, const KmerParams& kmers, bool lenient)
        : Lookup(kmers), table_(table), lenient_(lenient) {}

    void find_valid(std::span<const std::string_view> texts, std::uint64_t* counts) const override {
      for (const std::string_view text : texts) *counts++ = table_.count_of(text);
    }
    void profile(const io::Batch& batch, backend::Profile& out) const override {
      if (!lenient_) refuse_bad_bases(batch);
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

  static backend::Tally tally_of(const Counts& counts) {
    backend::Tally tally;
    for (const auto& [kmer, count] : counts) tally.note(count, 1);
    return tally;
  }
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
  static void refuse_bad_bases(const io::Batch& batch) {
    for (const io::Piece& piece : batch.pieces) {
      const std::string_view bases = batch.bases(piece);
      for (std::size_t i = 0; i < bases.size(); ++i) {
        if (char_class(bases[i]) == CharClass::invalid) io::throw_bad_base(batch, piece, i);
      }
    }
  }
  [[nodiscard]] Counts kmers_of(const io::Batch& batch, bool lenient) const {
    if (!lenient) refuse_bad_bases(batch);
    Counts all;
    for (const io::Piece& piece : batch.pieces)
      add_naive_kmers(all, naive_kmers(batch.bases(piece), static_cast<int>(kmers_.k), kmers_.canonical));
    return all;
  }
  [[nodiscard]] std::string name_of(std::string_view kmer) const {
    return naive_kmers(kmer, static_cast<int>(kmers_.k), kmers_.canonical).begin()->first;
  }
  [[nodiscard]] std::uint64_t count_of(std::string_view kmer) const {
    const std::string name = name_of(kmer);
    const std::lock_guard lock(mutex_);
    const auto at = counts_.find(name);
    return at == counts_.end() ? 0 : at->second;
  }

  const KmerParams kmers_;
  mutable std::mutex mutex_;  ///< guards what follows
  Counts counts_;
  backend::LiveTotals totals_;
  const Questions strict_, lenient_;
};

}  // namespace warpmer::tests
