// Pairs of k-mers that differ in one base, on the CPU: bins of k-mers that may be pairs, as many at a time as
// memory has room for.

#include "backend/indexes/hetmers.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "backend/indexes/index_set.h"
#include "base/error.h"
#include "base/thread_team.h"
#include "cpu/memory/huge_array.h"
#include "cpu/sets/hetmer_bins.h"
#include "cpu/sets/hetmer_entry.h"
#include "cpu/sets/one_base_pairs.h"
#include "cpu/sets/pair_log.h"
#include "host/limits.h"
#include "kmer/kmer.h"

namespace warpmer::cpu {

namespace {

using backend::PairFrequencies;

/// Says which k-mers have a partner, on each strand.
class PartnerMarks {
 public:
  explicit PartnerMarks(std::uint64_t kmers) : words_(words_for(kmers)) {}
  static std::uint64_t memory_bytes(std::uint64_t kmers) { return words_for(kmers) * sizeof(std::uint64_t); }

  /// Called concurrently.
  void set(HetmerFacts facts) {
    set(place(facts.number(), facts.is_reverse()));
    if (facts.is_palindrome()) set(place(facts.number(), !facts.is_reverse()));
  }
  /// True when the k-mer has a partner on the other strand.
  [[nodiscard]] bool is_set_for_other_strand(HetmerFacts facts) const {
    const std::uint64_t bit = place(facts.number(), !facts.is_reverse());
    return (words_.data()[bit / 64] >> (bit % 64) & 1) != 0;
  }

 private:
  static std::uint64_t words_for(std::uint64_t kmers) { return kmers / 32 + 1; }
  static std::uint64_t place(std::uint64_t number, bool is_reverse) {
    return 2 * number + (is_reverse ? 1 : 0);
  }
  void set(std::uint64_t bit) {
    const std::atomic_ref word(words_.data()[bit / 64]);
    const std::uint64_t mask = std::uint64_t{1} << (bit % 64);
    if ((word.load(std::memory_order_relaxed) & mask) == 0) word.fetch_or(mask, std::memory_order_relaxed);
  }

  HugeArray<std::uint64_t> words_;
};

/// Finds the pairs of some entries, on one thread. Where any base may differ, partners that differ in the
/// first half show with the other strand only: so it marks who has a partner, and a pair of two that have no
/// other one here goes to the log. A pair that differs in the middle base shows with both strands, and one of
/// them is passed over, unless all the other bases are a palindrome: then both strands are the same pair, or
/// two pairs that look alike, and neither is seen with the other strand's partners.
template <class Key>
class HetmerPairs {
 public:
  /// `marks` and `log` are null where only the middle base may differ.
  HetmerPairs(std::uint32_t k, DifferingBases bases, PartnerMarks* marks, PairLog* log,
              PairFrequencies& frequencies)
      : k_(k), pairs_(k, bases), marks_(marks), frequencies_(frequencies) {
    if (log != nullptr) writer_.emplace(*log);
    if (k % 2 == 1) middle_ = static_cast<Key>(Key{3} << (k - 1));
  }

  void find(std::span<const HetmerEntry<Key>> entries) {
    if (entries.size() < 2) return;
    entries_ = entries;
    has_links_ = false;
    pairs_.for_each(
        static_cast<std::uint32_t>(entries.size()), [&](std::uint32_t i) { return entries[i].kmer; },
        [&](std::uint32_t a, std::uint32_t b) { meet(a, b); });
    if (has_links_) take_pairs();
  }
  void finish() {
    if (writer_) writer_->flush();
  }

 private:
  /// The partners of an entry.
  struct PartnerLink {
    std::uint32_t partners = 0;
    std::uint32_t partner = 0;
    bool is_own_pair = false;  ///< with the last partner
    bool is_marked = false;
  };

  void meet(std::uint32_t a, std::uint32_t b) {
    const HetmerEntry<Key>& first = entries_[a];
    if (first.facts.count() + entries_[b].facts.count() > PairFrequencies::kMostSum) return;
    bool is_own_pair = false;
    if (((first.kmer ^ entries_[b].kmer) & middle_) != 0) {
      is_own_pair = ((first.kmer ^ reverse_complement(first.kmer, k_)) & ~middle_) == 0;
      if (first.facts.is_reverse() && !is_own_pair) return;
    }
    if (!has_links_) links_.assign(entries_.size(), {});
    has_links_ = true;
    link(a, b, is_own_pair);
    link(b, a, is_own_pair);
  }
  void link(std::uint32_t entry, std::uint32_t partner, bool is_own_pair) {
    PartnerLink& link = links_[entry];
    ++link.partners;
    link.partner = partner;
    link.is_own_pair = is_own_pair;
    link.is_marked |= !is_own_pair;
  }

  void take_pairs() {
    for (std::uint32_t a = 0; a < links_.size(); ++a) {
      const PartnerLink& link = links_[a];
      if (link.is_marked && marks_ != nullptr) marks_->set(entries_[a].facts);
      if (link.partners == 1 && a < link.partner && links_[link.partner].partners == 1)
        take(entries_[a].facts, entries_[link.partner].facts, link.is_own_pair);
    }
  }
  void take(HetmerFacts a, HetmerFacts b, bool is_own_pair) {
    if (!writer_) {
      frequencies_.add(a.count(), b.count(), is_own_pair ? 1 : 2);
    } else if (!a.is_palindrome() && !b.is_palindrome()) {  // those have each partner on both strands
      writer_->put({(is_own_pair ? a.in_own_pair() : a).word(), b.word()});
    }
  }

  std::uint32_t k_;
  OneBasePairs<Key> pairs_;
  PartnerMarks* marks_;
  PairFrequencies& frequencies_;
  std::optional<PairLog::PairWriter> writer_;
  Key middle_ = 0;  ///< the bits of the middle base; none for even k
  std::span<const HetmerEntry<Key>> entries_;
  bool has_links_ = false;
  std::vector<PartnerLink> links_;  ///< of each entry, if there are any
};

template <class Key>
class HetmerFinder {
 public:
  HetmerFinder(const index::IndexFile& index, const backend::HetmerPlan& plan, backend::JobProgress& progress)
      : index_(index),
        plan_(plan),
        progress_(progress),
        threads_(plan.resources.threads),
        bins_(index, bounds(plan), plan.at_any_base, threads_) {}

  PairFrequencies find() {
    divide_memory();
    PartnerMarks marks(plan_.at_any_base ? bins_.kmers() : 0);
    PairLog log(log_bytes_, plan_.tmp_directory);
    const std::vector<GatheredBins> ranges = bins_.ranges(room_);
    progress_.shards_total = bins_.bins();
    progress_.stage = backend::JobProgress::Stage::combining;
    bins_.prepare(ranges);
    for (const GatheredBins& range : ranges) {
      bins_.gather(range);
      find_in(range, marks, log);
    }
    count_logged(marks, log);
    progress_.stage = backend::JobProgress::Stage::done;
    return std::move(frequencies_);
  }

 private:
  using GatheredBins = typename HetmerBins<Key>::GatheredBins;
  /// The log has such a share of what is left: most k-mers have no partner.
  static constexpr std::uint64_t kLogShare = 8;
  /// More passes over an index are not worth the memory that they save.
  static constexpr std::uint64_t kMostRanges = 32;

  /// Partners of a k-mer have at least `min_count` themselves.
  static backend::CountBounds bounds(const backend::HetmerPlan& plan) {
    return {plan.min_count, PairFrequencies::kMostSum - plan.min_count};
  }

  /// Says what bins and the log may take.
  void divide_memory() {
    const std::uint64_t largest = bins_.most_entries_of_bin();
    const std::uint64_t of_thread =
        HetmerBins<Key>::OrderedEntries::bytes_for(largest) + 2 * PairLog::kBytesOfThread;
    const std::uint64_t others = backend::working_bytes(threads_) + threads_ * of_thread +
                                 bins_.writing_bytes() +
                                 (plan_.at_any_base ? PartnerMarks::memory_bytes(bins_.kmers()) : 0);
    const std::uint64_t range =
        std::max(bins_.bytes_of(largest), bins_.bytes_of(bins_.entries() / kMostRanges));
    const std::uint64_t least = range / (kLogShare - 1) * kLogShare + kLogShare;
    const std::uint64_t cap = plan_.resources.memory_bytes;
    if (cap < others + least) {
      throw ResourceError(host::memory_refusal(cap, "finding pairs of k-mers", threads_, others + least));
    }
    log_bytes_ = plan_.at_any_base ? (cap - others) / kLogShare : 0;
    room_ = cap - others - log_bytes_;
  }

  void find_in(const GatheredBins& range, PartnerMarks& marks, PairLog& log) {
    share_numbers(threads_, range.first, range.end, [&](unsigned /*thread*/, SharedNumbers& numbers) {
      typename HetmerBins<Key>::OrderedEntries ordered;
      HetmerPairs<Key> pairs(index_.params().k, bins_.differing_bases(), plan_.at_any_base ? &marks : nullptr,
                             plan_.at_any_base ? &log : nullptr, frequencies_);
      for (std::uint32_t bin; numbers.take(bin); ++progress_.shards_done) {
        bins_.order(bin, ordered);
        const HetmerEntry<Key>* const entries = ordered.entries.data();
        const std::uint32_t* const offsets = ordered.offsets.data();
        for (std::uint32_t b = 0; b < ordered.buckets; ++b)
          pairs.find({entries + offsets[b], entries + offsets[b + std::size_t{1}]});
      }
      pairs.finish();
    });
  }

  /// Counts the pairs of which neither has a partner on the other strand.
  void count_logged(const PartnerMarks& marks, PairLog& log) {
    share_numbers(threads_, 0, log.blocks(), [&](unsigned /*thread*/, SharedNumbers& numbers) {
      std::vector<LoggedPair> buffer;
      for (std::size_t block; numbers.take(block);) {
        for (const LoggedPair& pair : log.block(block, buffer)) {
          const HetmerFacts a(pair.first), b(pair.second);
          if (marks.is_set_for_other_strand(a) || marks.is_set_for_other_strand(b)) continue;
          frequencies_.add(a.count(), b.count(), a.is_in_own_pair() ? 1 : 2);
        }
      }
    });
  }

  const index::IndexFile& index_;
  const backend::HetmerPlan& plan_;
  backend::JobProgress& progress_;
  const unsigned threads_;
  HetmerBins<Key> bins_;
  std::uint64_t room_ = 0;
  std::uint64_t log_bytes_ = 0;
  PairFrequencies frequencies_;
};

}  // namespace

}  // namespace warpmer::cpu

namespace warpmer::backend {

PairFrequencies find_hetmers(const index::IndexFile& index, const HetmerPlan& plan, JobProgress& progress) {
  return with_key_type(index.params().k,
                       [&]<class Key>(Key) { return cpu::HetmerFinder<Key>(index, plan, progress).find(); });
}

}  // namespace warpmer::backend
