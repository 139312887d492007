#pragma once
/// Commands that take several indexes: their arguments, and which counts of each to look at.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/set_session.h"

namespace warpmer::cli {

struct IndexInputs {
  std::vector<std::string> arguments;     ///< as typed
  std::vector<std::string> paths;         ///< with lists expanded
  std::vector<std::uint64_t> min_counts;  ///< one for all, or one for each
  std::vector<std::uint64_t> max_counts;
  std::vector<backend::CountBounds> bounds;  ///< as the engine takes them
};

/// The indexes to read, as arguments, with `--input-min-count` and `--input-max-count`.
void add_index_inputs(CLI::App& app, IndexInputs& inputs);

/// Fills in `paths` and `bounds`. UsageError for numbers that do not fit the inputs, InputError for an input
/// that does not exist, ResourceError for lists that a cap of `memory_bytes` leaves no room for (0: none).
void complete(IndexInputs& inputs, std::uint64_t memory_bytes);

}  // namespace warpmer::cli
