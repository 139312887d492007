#pragma once
/// Warnings (base/warning.h) about inputs that hold nothing that a job could work on.

#include <cstdint>
#include <string>

#include "backend/job_progress.h"
#include "index/index_file.h"

namespace warpmer::backend {

/// Warns, by one sentence, when what was read has no sequence, or no k-mer; the reason that it gives is true.
/// To be called when all is read and before the output gets its name. It matters only whether `read.kmers` is
/// 0. `what` was read, as messages call it: "the input".
void warn_if_empty(const ReadTotals& read, std::uint32_t k, const std::string& what = "the input");

/// Does the same for what a counting job has read, and warns when its bounds leave none of the k-mers over.
void warn_if_empty(const index::Totals& totals, std::uint32_t k, const std::string& what);

}  // namespace warpmer::backend
