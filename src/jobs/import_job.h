#pragma once
/// An index made of another program's counted k-mers.

#include <string>

#include "formats/stream/kmer_stream.h"
#include "index/index_file.h"
#include "jobs/session_run.h"

namespace warpmer::jobs {

struct ImportOptions {
  std::string input;            ///< name that messages give the source
  bool canonical = false;       ///< whatever the source says; see ImportPlan
  bool sum_duplicates = false;  ///< of a k-mer that comes more than once, where it may; else it is an error
  host::Resources resources;
  std::string output;  ///< path, or "-"
  index::Provenance provenance;
};

/// Runs a whole job, on the CPU. All k-mers are in memory, in 2k bits each and a byte or more for the count,
/// until they are sorted and written. In the totals of the index, "counted" is what the source has; records
/// and bases, which are no longer known, are 0. Throws Error, and then no output file is left.
IndexReport run_import(formats::KmerSource& source, const ImportOptions& options,
                       backend::JobProgress& progress);

}  // namespace warpmer::jobs
