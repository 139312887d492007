#pragma once
/// Totals as the library gives them.

#include "index/index_file.h"
#include "warpmer/warpmer.h"

namespace warpmer::library {

[[nodiscard]] inline Totals public_totals(const index::Totals& totals) {
  return {.sequences = totals.records,
          .bases = totals.bases,
          .counted_kmers = totals.counted_kmers,
          .counted_distinct = totals.counted_distinct,
          .counted_unique = totals.counted_unique,
          .stored_kmers = totals.stored_kmers,
          .stored_distinct = totals.stored_distinct,
          .largest_count = totals.largest_count,
          .min_count = totals.min_count,
          .max_count = totals.max_count};
}

}  // namespace warpmer::library
