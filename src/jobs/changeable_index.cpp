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
  std::string lacks, without = "--min-count and --max-count";
  if (totals.are_chosen != 0) {
    lacks =
        "has only some of the k-mers of what was read (count --only, or an operation that leaves k-mers out)";
    without = "--only, " + without;
  } else if (!left_out.empty()) {
    lacks = fmt::format("has no k-mers that occurred {} times", left_out);
  } else if (totals.left_out() > 0) {
    lacks = "was made of indexes that lack k-mers by their counts";
  }
  if (lacks.empty()) return "";
  return fmt::format("{} {}, so its counts cannot be kept up; update an index of all k-mers, made without {}",
                     index.path(), lacks, without);
}

}  // namespace warpmer::jobs
