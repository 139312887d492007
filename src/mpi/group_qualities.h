#pragma once
/// Qualities of reads that several ranks have read.

#include <memory>

#include "io/text/quality_watch.h"

namespace warpmer::mpi {

class ProcessGroup;  // mpi/process_group.h

/// io::warn_of_phred64 on rank 0, of what all ranks have read. To be called on all ranks together; `watch` is
/// null on all of them or on none.
void warn_of_phred64(ProcessGroup& ranks, const std::shared_ptr<io::QualityWatch>& watch);

}  // namespace warpmer::mpi
