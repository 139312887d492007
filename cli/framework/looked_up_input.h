#pragma once
/// Reading sequences whose k-mers are looked up.

#include <cstdint>

#include "host/limits.h"
#include "io/input_set.h"

namespace warpmer::cli {

/// Returns the options for reading them in the order of the input.
io::InputOptions input_in_order(const io::ReadingOptions& reading, std::uint32_t k, unsigned threads);

/// The memory in which sequences are looked up in mapped indexes.
struct MappedLookups {
  std::uint64_t mapped_bytes = 0;   ///< of the indexes
  std::uint64_t bytes_of_base = 1;  ///< of a batch and of what is made of it, at most
  unsigned indexes = 1;
};
/// Makes the batches so small that those in flight fit a cap on the process beside the indexes, as far as
/// that can be. The resources are settled.
void fit_batches(const MappedLookups& memory, const host::Resources& resources, io::InputOptions& options);

}  // namespace warpmer::cli
