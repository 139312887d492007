#include "cli/output/assembly_reads.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "base/warning.h"
#include "cli/arguments/flags.h"
#include "cli/framework/messages.h"

namespace warpmer::cli {

void check_reads_of_assembly(const index::IndexFile& reads) {
  if (!reads.params().canonical) {
    throw UsageError("'" + reads.path() +
                     "' was counted with --forward, and an assembly has either strand; count the reads "
                     "without it");
  }
  if (reads.totals().are_chosen != 0) {
    warn(fmt::format("'{}' has only chosen k-mers of reads; what it lacks is taken for missing",
                     reads.path()));
  } else if (reads.totals().left_out() > 0) {
    warn(fmt::format(
        "'{}' was counted with --min-count or --max-count; what they left out of it is taken for missing",
        reads.path()));
  }
}

void add_solid_count_flag(CLI::App& command, std::optional<std::uint64_t>& least_count) {
  add_whole_number(
      command, "--solid-count", 1, UINT64_MAX, least_count,
      "K-mers that the reads have at least N times are solid. Default: one more than the error cut-off, the "
      "count at the bottom of the valley before the first peak; see 'warpmer stats'.");
}

std::optional<stats::SolidKmers> solid_kmers_of(const index::IndexFile& reads,
                                                std::optional<std::uint64_t> least_count) {
  if (reads.totals().stored_distinct == 0) {
    warn(fmt::format("there is no k-mer in {}, so every k-mer is missing there", shown_input(reads.path())));
  } else if (!least_count) {
    warn(fmt::format(
        "'{}' has no clear peak of genomic k-mers, so completeness is not known; give --solid-count",
        reads.path()));
  }
  if (!least_count) return std::nullopt;
  stats::SolidKmers solid{*least_count, 0};
  for (const auto& [count, kmers] : reads.histogram()) solid.kmers += count >= solid.count ? kmers : 0;
  return solid;
}

std::string number_text(double value) { return std::isnan(value) ? "NA" : fmt::format("{:.6g}", value); }

}  // namespace warpmer::cli
