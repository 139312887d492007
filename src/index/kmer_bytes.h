#pragma once
/// The parts of an index, and how many bytes are spent on each.

#include <cstdint>

#include "index/index_file.h"

namespace warpmer::index {

/// The bits of a file that k-mers take. All else of it is a directory: where groups, strings and shards are,
/// and the sections that say what the file is.
struct KmerBits {
  std::uint64_t bases = 0;   ///< of strings, with their lengths; of entries, what is kept of the hashes
  std::uint64_t counts = 0;  ///< exceptions are counts, too
};

/// Reads all shards of an index of strings, on so many threads, and so checks them; of one of entries none.
/// InputError for a damaged one.
[[nodiscard]] KmerBits kmer_bits(const IndexFile& index, unsigned threads);

}  // namespace warpmer::index
