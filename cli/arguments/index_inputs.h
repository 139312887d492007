#pragma once
/// The arguments of commands that take several indexes, with the counts of each to look at.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/count_bounds.h"

namespace warpmer::cli {

struct IndexInputs {
  std::vector<std::string> arguments;     ///< arguments as typed
  std::vector<std::uint64_t> min_counts;  ///< one for all, or one for each
  std::vector<std::uint64_t> max_counts;
};

/// Adds the indexes to read, as arguments, with `--input-min-count` and `--input-max-count`.
void add_index_inputs(CLI::App& app, IndexInputs& inputs);

/// Sets `paths`, with lists expanded (`expand_index_lists`), and `bounds`, one for each, as jobs take them.
/// Throws a UsageError also for numbers that do not fit the inputs, and an InputError for an input that does
/// not exist.
void complete(const IndexInputs& inputs, const std::vector<std::string>& outputs, std::uint64_t memory_bytes,
              std::vector<std::string>& paths, std::vector<backend::CountBounds>& bounds);

/// Replaces lists, "@LIST", by the indexes that they name, once for a command. Throws a UsageError when one
/// of the `outputs` is a list or an index, or when standard input is named twice, an InputError for an index
/// in a list that cannot be read, and a ResourceError for more names than a cap of `memory_bytes` (0: none)
/// leaves room for.
void expand_index_lists(std::vector<std::string>& indexes, const std::vector<std::string>& outputs,
                        std::uint64_t memory_bytes = 0);

}  // namespace warpmer::cli
