#pragma once
/// Work on a live table: reads go in and out, and what it holds is written as an index.

#include <string>
#include <vector>

#include "backend/job_progress.h"
#include "backend/live/live_table.h"
#include "io/text/input_options.h"
#include "jobs/session_run.h"

namespace warpmer::jobs {

struct LiveReadOptions {
  std::vector<std::string> inputs;
  io::ReadingOptions reading;
  KmerParams kmers;  ///< of the table
  unsigned threads = 1;
  bool is_removal = false;  ///< the reads are taken away
};

struct LiveReadReport {
  backend::ReadTotals read;
  backend::Shortfall shortfall;  ///< what was to be removed and was not there
};

/// Adds reads to a table, or removes them. The sentence of an error says how many are in, or out, by then.
LiveReadReport change_live(backend::LiveTable& table, const LiveReadOptions& options,
                           backend::JobProgress& progress);

struct LiveIndexOptions {
  std::string output;
  KmerParams kmers;  ///< of the table
  host::Resources resources;
  index::Provenance provenance;
};

/// Writes the index that counting the same reads would have written, but for its provenance.
IndexReport write_live(backend::LiveTable& table, const LiveIndexOptions& options,
                       backend::JobProgress& progress);

}  // namespace warpmer::jobs
