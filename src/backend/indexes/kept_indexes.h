#pragma once
/// The memory that several indexes take as long as they are open.

#include "backend/indexes/index_set.h"
#include "index/index_file.h"

namespace warpmer::backend {

/// ResourceError, naming a cap that would do, where what is kept of so many indexes, and for them, is more
/// than a cap on the process leaves: when the first of them is open. The others are taken to be like it, if
/// it is a file. A small part of the cap is passed over, as the session says better what would do.
void refuse_too_many(const index::IndexFile& first, const WorkingMemory& memory);

}  // namespace warpmer::backend
