#pragma once
/// Set algebra: indexes in, one index out.

#include <cstdint>
#include <string>
#include <vector>

#include "backend/indexes/set_session.h"
#include "index/index_file.h"
#include "jobs/session_run.h"

namespace warpmer::jobs {

struct SetOptions {
  backend::SetRule rule;
  std::vector<std::string> inputs;              ///< indexes; `subtract` and `symmetric_difference` need two
  std::vector<std::string> names = {};          ///< what warnings call the inputs; none: their files
  std::vector<backend::CountBounds> of_inputs;  ///< one for all inputs, or one for each
  host::Resources resources;
  std::string output;            ///< path, or "-"
  index::Provenance provenance;  ///< `inputs` is filled in by the job
};

struct SetReport : IndexReport {
  std::uint64_t input_distinct = 0;  ///< distinct k-mers in all inputs, each input's counted
};

/// Runs a whole job, on the CPU. Never more than a part of a shard of each input is in memory. The totals of
/// the index written: "counted" is what the operation gives, in a union with the occurrences that filters
/// left out of the inputs, "stored" what `of_result` leaves of it; records and bases are the sums of those of
/// the inputs (of `subtract`, those of the first); the filter is what its counts are within. So the union of
/// indexes with summed counts, where nothing is filtered, is the index of all their sequences, byte for byte
/// but for its provenance; and a union of indexes that lack something warns. Throws Error, and then no output
/// file is left.
SetReport run_set_operation(const SetOptions& options, backend::JobProgress& progress);

}  // namespace warpmer::jobs
