#pragma once
/// The memory that several indexes take as long as they are open.

#include <cstddef>
#include <cstdint>

#include "index/index_file.h"

namespace warpmer::backend {

/// ResourceError, naming a cap that would do, where what is kept of so many indexes, and `table_bytes` for
/// tables of all of them, is more than a cap on the process leaves: when the first of them is open. The
/// others are taken to be like it, if it is a file. A small part of the cap is passed over, as the session
/// says better what would do.
void refuse_too_many(const index::IndexFile& first, std::size_t inputs, std::uint64_t memory_cap,
                     unsigned threads, std::uint64_t table_bytes);

}  // namespace warpmer::backend
