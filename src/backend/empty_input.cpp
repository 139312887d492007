#include "backend/empty_input.h"

#include <fmt/format.h>

#include "base/warning.h"

namespace warpmer::backend {
namespace {

/// Says why no k-mer is in sequences that there are. Lengths are known as a sum only.
std::string reason(const ReadTotals& read, std::uint32_t k) {
  const std::string all =
      read.records == 1 ? "its sequence is" : fmt::format("all {} sequences are", read.records);
  if (read.bases < k) return fmt::format("{} shorter than k = {}", all, k);
  const std::string none = fmt::format("without {} bases in a row that are known (A, C, G, T or U)", k);
  if (read.bases / read.records >= k) return fmt::format("{} {}", all, none);
  return fmt::format("{} shorter than k = {}, or {}", all, k, none);
}

}  // namespace

void warn_if_empty(const ReadTotals& read, std::uint32_t k, const std::string& what) {
  if (read.records == 0) {
    warn(fmt::format(
        "there is no sequence in {}; if it comes from a pipe, see whether what feeds it has failed", what));
  } else if (read.kmers == 0) {
    warn(fmt::format("there is no k-mer in {}: {}", what, reason(read, k)));
  }
}

void warn_if_empty(const index::Totals& totals, std::uint32_t k, const std::string& what) {
  if (totals.counted_distinct == 0) {
    warn_if_empty(ReadTotals{totals.records, totals.bases, totals.counted_kmers}, k, what);
  } else if (totals.stored_distinct == 0) {
    const std::string most =
        totals.max_count == UINT64_MAX ? "" : fmt::format(" and at most {}", totals.max_count);
    warn(fmt::format("none of the {} distinct k-mers occurs at least {} times{}, so the result is empty",
                     totals.counted_distinct, totals.min_count, most));
  }
}

}  // namespace warpmer::backend
