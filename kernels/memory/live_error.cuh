#pragma once
/// The errors of an index whose table stays on the device (kernels/resident/resident_table.cuh), and of
/// counting together with it.

#include <string>

#include "base/error.h"
#include "index/index_file.h"

namespace warpmer::gpu {

/// Throws a ResourceError that says what there is no room for, and what the user can do.
[[noreturn]] inline void throw_not_alive(const index::IndexFile& index, const std::string& what,
                                         const std::string& remedy) {
  throw ResourceError(index.path() + " cannot be kept alive: " + what + "; " + remedy);
}

/// Throws the error for too many large counts. Slots have 32 bits for a count. There is room for
/// kMostBigCounts that need more: beside a table, among all that its partitions hand over at once, and in a
/// chunk of shards that is counted (in one bin there is room for fewer).
[[noreturn]] inline void throw_too_many_large_counts(const index::IndexFile& index) {
  throw_not_alive(index, "too many of its counts reach 2^32 - 1", "leave --paged out");
}

}  // namespace warpmer::gpu
