#pragma once
/// Checks of arguments that several functions take.

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "file/input_error.h"
#include "formats/text/ending.h"
#include "jobs/output_check.h"
#include "warpmer/warpmer.h"

namespace warpmer::library {

/// Throws a UsageError for a name that the system would take for its part before a NUL.
inline void check_name(const std::string& name) {
  if (name.find('\0') != std::string::npos)
    throw UsageError(fmt::format("no file has a NUL in its name, as {} does", file::quoted(name, 200)));
}

/// Throws a UsageError when the index to write has no name, or one that ends as other files do, or would
/// replace one of the inputs, or sequence data.
inline void check_output(const std::string& output, const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) check_name(input);
  check_name(output);
  if (output.empty() || output == "-") throw UsageError("an index is written to a file; give its name");
  jobs::check_is_no_input(output, inputs);
  jobs::check_replaces_no_sequences(output, "choose another name, or remove it");
  formats::check_ending(output, {formats::Content::index}, "let 'warpmer convert' write other formats");
}

/// Throws a ResourceError for a cap that was meant in another unit.
inline void check_memory_cap(std::uint64_t bytes) {
  if (bytes > 0 && bytes < std::uint64_t{1} << 20)
    throw ResourceError(fmt::format("a memory cap of {} bytes is too little for any job", bytes));
}

/// Throws a UsageError for words that are no whole number of packed k-mers.
inline void check_packed(std::size_t words, std::uint32_t k) {
  if (words % words_per_kmer(k) != 0) {
    throw UsageError(
        fmt::format("packed {}-mers have {} words each, and there are {}", k, words_per_kmer(k), words));
  }
}

}  // namespace warpmer::library
