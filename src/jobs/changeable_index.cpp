#include "jobs/changeable_index.h"

#include <fmt/format.h>

#include <cstdint>

namespace warpmer::jobs {

std::string why_unchangeable(const index::IndexFile& index) {
  const index::Totals& totals = index.totals();
  std::string left_out;
  if (totals.min_count > 1) left_out = fmt::format("fewer than {}", totals.min_count);
  if (totals.max_count != UINT64_MAX)
    left_out += fmt::format("{}more than {}", left_out.empty() ? "" : " or ", totals.max_count);
  if (!left_out.empty())
    return fmt::format(
        "{} has no k-mers that occurred {} times, so their counts cannot be kept up; update an index that "
        "was "
        "made without --min-count and --max-count",
        index.path(), left_out);
  if (totals.is_chosen())
    return fmt::format(
        "{} has only some of the k-mers of what was read, as 'count --only', 'intersect' and 'subtract' make "
        "it, "
        "so its counts cannot be kept up; update an index of all k-mers, and make it anew of that",
        index.path());
  if (totals.left_out() == 0) return "";
  return fmt::format(
      "{} was made of indexes that lack k-mers by their counts, so its counts cannot be kept up; update one "
      "that was made without --min-count and --max-count",
      index.path());
}

}  // namespace warpmer::jobs
