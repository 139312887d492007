#pragma once
/// The arguments of commands that take several indexes, with the counts of each to look at.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/set_session.h"

namespace warpmer::cli {

struct IndexInputs {
  std::vector<std::string> arguments;     ///< arguments as typed
  std::vector<std::string> paths;         ///< with lists expanded
  std::vector<std::uint64_t> min_counts;  ///< one for all, or one for each
  std::vector<std::uint64_t> max_counts;
  std::vector<backend::CountBounds> bounds;  ///< bounds in the form that jobs take
};

/// Adds the indexes to read, as arguments, with `--input-min-count` and `--input-max-count`.
void add_index_inputs(CLI::App& app, IndexInputs& inputs);

/// Fills in `paths` and `bounds`. Throws a UsageError for numbers that do not fit the inputs, an InputError
/// for an input that does not exist, and a ResourceError for lists for which a cap of `memory_bytes` (0:
/// none) leaves no room.
void complete(IndexInputs& inputs, std::uint64_t memory_bytes);

}  // namespace warpmer::cli
