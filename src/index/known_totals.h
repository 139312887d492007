#pragma once
/// Says what is known of an index's totals: another program's database does not say what was read for it.

#include <cstdint>

#include "index/index_file.h"
#include "kmer/kmer.h"

namespace warpmer::index {

/// False for an index made of such a database, whose `records` and `bases` are 0.
[[nodiscard]] inline bool knows_reads(const Totals& totals) noexcept {
  return totals.records > 0 || totals.bases > 0 || totals.counted_kmers == 0;
}

/// False where that database, besides, was filtered: what is counted in `totals` is what it kept.
[[nodiscard]] inline bool knows_counted(const Totals& totals) noexcept {
  return knows_reads(totals) || (totals.min_count <= 1 && totals.max_count == UINT64_MAX);
}

/// False where occurrences were left out of what an index was made of, and nobody knows of how many k-mers.
[[nodiscard]] inline bool knows_distinct(const Totals& totals) noexcept {
  return knows_counted(totals) &&
         (totals.counted_kmers == totals.stored_kmers || totals.counted_distinct > totals.stored_distinct);
}

/// True where the counts of all k-mers add up to more than an index can hold.
[[nodiscard]] inline bool exceeds_totals(const Histogram& histogram) noexcept {
  Key128 sum = 0;
  for (const auto& [count, number] : histogram) sum += Key128{count} * number;
  return sum > UINT64_MAX;
}

}  // namespace warpmer::index
