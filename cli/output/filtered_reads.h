#pragma once
/// Runs `warpmer filter` on some reads: looks them up, judges them, and writes those that are kept.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/lookup/lookup.h"
#include "io/read_pairs.h"
#include "jobs/read_filter.h"

namespace warpmer::cli {

struct FilterPlan {
  std::uint32_t k = 0;
  jobs::ReadRule rule;
  io::Pairing pairing = io::Pairing::single;
  bool needs_both = false;  ///< a pair passes when both mates do; else when any does
  bool invert = false;      ///< keep the reads that do not pass
  bool trim = false;
  bool mask = false;
  std::size_t min_length = 1;  ///< bases of a trimmed read
  std::optional<int> min_base_quality;
  bool names_only = false;
  bool two_outputs = false;  ///< one output for first mates, one for second ones

  /// True when it takes each k-mer's count to filter, and not only how many are there.
  [[nodiscard]] bool needs_counts() const noexcept {
    return trim || mask || min_base_quality || !rule.counts.contains_all();
  }
};

struct FilterTotals {
  std::uint64_t reads = 0;
  std::uint64_t reads_kept = 0;
  std::uint64_t bases = 0;
  std::uint64_t bases_kept = 0;
  std::uint64_t bases_masked = 0;
  bool has_kmers = false;  ///< true when the reads have any

  FilterTotals& operator+=(const FilterTotals& other) noexcept;
};

/// The kept reads of a group, as text or BAM records.
struct KeptReads {
  std::string text[2];  ///< the second only with two outputs
  FilterTotals totals;
};

/// One thread's filter.
class GroupFilter {
 public:
  /// Both outlive the filter.
  GroupFilter(const FilterPlan& plan, const backend::Lookup& lookup) : plan_(plan), lookup_(lookup) {}

  /// Filters a group. Throws an InputError for bases that are no nucleotide codes, unless the lookup is
  /// lenient, and for aligned reads that would be trimmed or masked.
  KeptReads filter(const io::ReadGroup& group);

 private:
  struct Verdict {
    bool passes = false;
    jobs::BaseRange range;  ///< range of bases that remain
  };
  /// A batch with the results of judging it.
  struct Judged {
    const io::Batch* batch = nullptr;
    backend::Profile profile;  ///< if the plan needs counts
    backend::BatchSummary summary{.wants_medians = false};
    std::vector<Verdict> verdicts;
  };

  void judge(const io::Batch& batch, Judged& judged, FilterTotals& totals);
  [[nodiscard]] Verdict judge_counts(const Judged& judged, std::size_t read);
  /// Returns the counts of a read, until those of another are wanted. Bases of low quality break k-mers.
  std::span<const std::uint64_t> counts_of(const Judged& judged, std::size_t read);
  void break_at_low_quality(const io::Batch& batch, const io::Piece& piece,
                            std::span<std::uint64_t> counts) const;
  [[nodiscard]] bool is_pair_kept(const Verdict& a, const Verdict& b) const;
  void append(Judged& judged, std::size_t read, std::string& to, FilterTotals& totals);

  const FilterPlan& plan_;
  const backend::Lookup& lookup_;
  Judged first_;
  Judged second_;
  std::vector<std::uint64_t> counts_;
  std::string masked_;
  bool has_kmers_ = false;
};

}  // namespace warpmer::cli
