#pragma once
/// Errors of an index that is kept alive (kernels/resident/live_table.cuh), and of what is counted together
/// with it.

#include <string>

#include "base/error.h"
#include "index/index_file.h"

namespace warpmer::gpu {

/// A ResourceError: what there is no room for, and what is to be done.
[[noreturn]] inline void throw_not_alive(const index::IndexFile& index, const std::string& what,
                                         const std::string& remedy) {
  throw ResourceError(index.path() + " cannot be kept alive: " + what + "; " + remedy);
}

/// Slots have 32 bits for a count; there is room for kMostBigCounts that need more, beside a table, of all
/// that its children pass on at once, and in a chunk of shards that is counted (of one list, for fewer).
[[noreturn]] inline void throw_too_many_large_counts(const index::IndexFile& index) {
  throw_not_alive(index, "too many of its counts reach 2^32 - 1", "leave --paged out");
}

}  // namespace warpmer::gpu
