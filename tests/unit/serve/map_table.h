#pragma once
/// A live table that is a map, for tests of what serves one.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/live/live_table.h"
#include "backend/lookup/kmer_text.h"
#include "base/error.h"
#include "kmer/alphabet.h"
#include "kmer_index.h"

namespace warpmer::tests {

/// Calls `visit(start, kmer)` for each k-mer of a piece, which is canonical if the table's are.
template <class Visit>
void for_each_kmer(const io::Batch& batch, const io::Piece& piece, const KmerParams& kmers, bool lenient,
                   const Visit& visit) {
  const std::string_view bases = batch.bases(piece);
  for (std::size_t i = 0; i < bases.size(); ++i) {
    if (!lenient && char_class(bases[i]) == CharClass::invalid) io::throw_bad_base(batch, piece, i);
  }
  for (std::size_t start = 0; start + kmers.k <= bases.size(); ++start) {
    Key64 kmer = 0;
    if (!kmer_from_text(bases.substr(start, kmers.k), kmer)) continue;
    visit(start, kmers.canonical ? canonical(kmer, kmers.k) : kmer);
  }
}

/// For k up to 32.
class MapTable : public backend::LiveTable {
 public:
  explicit MapTable(const KmerParams& kmers)
      : kmers_(kmers),
        params_(params_of(kmers.k, kmers.canonical)),
        strict_(*this, false),
        lenient_(*this, true) {}

  std::uint64_t most_kmers = UINT64_MAX;  ///< with more there is no memory

  /// Gives a k-mer a count, for those that no test can reach.
  void set(std::string_view kmer, std::uint64_t count) { counts_[place(kmer)] = count; }

  std::uint64_t add(const io::Batch& batch, bool lenient) override {
    const std::lock_guard lock(mutex_);
    const std::vector<Key64> added = kmers_of(batch, lenient);
    std::set<Key64> fresh;
    for (const Key64 kmer : added) {
      if (!counts_.contains(place_of(kmer, params_))) fresh.insert(kmer);
    }
    if (counts_.size() + fresh.size() > most_kmers) throw ResourceError("the map is full");
    for (const Key64 kmer : added) ++counts_[place_of(kmer, params_)];
    note(batch, 1);
    return added.size();
  }

  backend::Removal remove(const io::Batch& batch, bool lenient) override {
    const std::lock_guard lock(mutex_);
    std::map<Key64, std::uint64_t> removed;
    backend::Removal removal;
    for (const Key64 kmer : kmers_of(batch, lenient)) {
      ++removed[kmer];
      ++removal.kmers;
    }
    for (const auto& [kmer, times] : removed) {
      const auto found = counts_.find(place_of(kmer, params_));
      const std::uint64_t there = found == counts_.end() ? 0 : found->second;
      if (times > there) removal.shortfall.note(there, times - there);
      if (there > times) {
        found->second -= times;
      } else if (there > 0) {
        counts_.erase(found);
      }
    }
    note(batch, ~std::uint64_t{0});
    return removal;
  }

  [[nodiscard]] const backend::Lookup& lookup(bool lenient) const override {
    return lenient ? lenient_ : strict_;
  }
  [[nodiscard]] backend::Tally tally() override {
    const std::lock_guard lock(mutex_);
    return tally_of(counts_);
  }
  [[nodiscard]] backend::LiveTotals totals() const override {
    const std::lock_guard lock(mutex_);
    return totals_;
  }
  [[nodiscard]] std::unique_ptr<backend::LiveSnapshot> snapshot() override {
    const std::lock_guard lock(mutex_);
    return std::make_unique<Snapshot>(params_, counts_, totals_);
  }
  [[nodiscard]] std::uint64_t memory_bytes() const override { return 4711; }
  [[nodiscard]] std::string describe() const override { return "a map"; }

 private:
  using Counts = KmerPlaces<Key64>;

  class Asked : public backend::Lookup {
   public:
    Asked(const MapTable& table, bool lenient) : Lookup(table.kmers_), table_(table), lenient_(lenient) {}
    void find_all(std::span<const std::string_view> texts, std::uint64_t* counts) const override {
      const std::lock_guard lock(table_.mutex_);
      for (const std::string_view text : texts) {
        backend::require_kmer(text, kmers().k);
        *counts++ = table_.count(table_.place(text));
      }
    }
    void profile(const io::Batch& batch, backend::Profile& out) const override {
      const std::lock_guard lock(table_.mutex_);
      lay_out(batch, out);
      std::vector<std::uint64_t> exact(out.counts.size(), backend::Profile::kNoKmer);
      bool has_large = false;
      for (std::size_t i = 0; i < batch.pieces.size(); ++i) {
        for_each_kmer(batch, batch.pieces[i], kmers(), lenient_, [&](std::size_t start, Key64 kmer) {
          const std::uint64_t count = table_.count(place_of(kmer, table_.params_));
          exact[out.first[i] + start] = count;
          out.counts[out.first[i] + start] = backend::narrow_count(count);
          has_large = has_large || count >= backend::Profile::kLargeCount;
        });
      }
      if (has_large) out.wide = exact;
    }

   private:
    const MapTable& table_;
    const bool lenient_;
  };

  class Snapshot : public backend::LiveSnapshot {
   public:
    Snapshot(const index::IndexParams& params, Counts counts, const backend::LiveTotals& totals)
        : params_(params), counts_(std::move(counts)), totals_(totals) {}
    void finish(unsigned /*thread*/, const backend::ShardSink& sink,
                const std::function<void()>& shard_done) override {
      for (std::uint32_t shard; (shard = next_.fetch_add(1)) < params_.shards(); shard_done()) {
        std::vector<Key64> keys;
        std::vector<std::uint64_t> counts;
        for (auto at = counts_.lower_bound({shard, 0}); at != counts_.end() && at->first.first == shard;
             ++at) {
          keys.push_back(at->first.second);
          counts.push_back(at->second);
        }
        if (params_.k <= kMaxDenseK) {
          sink(shard, index::freeze(keys.data(), counts.data(), keys.size(), params_.k));
        } else {
          groups::EncodedShard strings = groups::KeyEncoder<Key64, Key64>(params_.k).encode(keys, counts);
          sink(shard, {{}, std::move(strings.payload), {}, std::nullopt, strings.sizes});
        }
      }
    }
    [[nodiscard]] backend::Tally tally() const override { return tally_of(counts_); }
    [[nodiscard]] backend::LiveTotals totals() const override { return totals_; }

   private:
    const index::IndexParams params_;
    const Counts counts_;
    const backend::LiveTotals totals_;
    std::atomic<std::uint32_t> next_{0};
  };

  static backend::Tally tally_of(const Counts& counts) {
    backend::Tally tally;
    for (const auto& [place, count] : counts) tally.note(count, 1);
    return tally;
  }
  [[nodiscard]] std::pair<std::uint32_t, Key64> place(std::string_view text) const {
    Key64 kmer = 0;
    kmer_from_text(text, kmer);
    return place_of(kmers_.canonical ? canonical(kmer, kmers_.k) : kmer, params_);
  }
  [[nodiscard]] std::uint64_t count(const std::pair<std::uint32_t, Key64>& place) const {
    const auto found = counts_.find(place);
    return found == counts_.end() ? 0 : found->second;
  }
  [[nodiscard]] std::vector<Key64> kmers_of(const io::Batch& batch, bool lenient) const {
    std::vector<Key64> kmers;
    for (const io::Piece& piece : batch.pieces)
      for_each_kmer(batch, piece, kmers_, lenient, [&](std::size_t, Key64 kmer) { kmers.push_back(kmer); });
    return kmers;
  }
  void note(const io::Batch& batch, std::uint64_t sign) {
    for (const io::Piece& piece : batch.pieces) {
      totals_.records += piece.first_base == 0 ? sign : 0;
      const std::uint32_t old = piece.first_base == 0 ? 0 : std::min(piece.length, kmers_.k - 1);
      totals_.bases += sign * (piece.length - old);
    }
  }

  const KmerParams kmers_;
  const index::IndexParams params_;
  mutable std::mutex mutex_;
  Counts counts_;
  backend::LiveTotals totals_;
  Asked strict_, lenient_;
};

}  // namespace warpmer::tests
