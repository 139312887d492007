#pragma once
/// The k-mers of an index as text, or as numbers, all of them.

#include <functional>
#include <string_view>

#include "backend/count_bounds.h"
#include "file/output/buffered_output.h"
#include "host/limits.h"
#include "index/index_file.h"

namespace warpmer::backend {

enum class EntryFormat {
  tsv,           ///< a line `KMER<TAB>COUNT` for each
  fasta,         ///< a record `>COUNT` for each
  packed_kmers,  ///< no text: 2k bits, A = 0, C = 1, G = 2, T = 3, as one number of 64 bits or, for k above
                 ///< 32, two, the upper one first
  raw_counts,    ///< no text: a number of 64 bits for each
};

struct EntryTextPlan {
  EntryFormat format = EntryFormat::tsv;
  CountBounds bounds;         ///< bounds of the counts to write
  bool sorted = false;        ///< in lexicographic order; else in that of the file
  host::Resources resources;  ///< the memory is to sort in
};

/// Gives the text to `write`, piece by piece and in order, from one thread at a time, with the share of the
/// k-mers that is there with each. Sorting what does not
/// fit into memory at once takes several passes over the index, one range of k-mers each. InputError for a
/// damaged shard; ResourceError when not even one small range fits. Implemented in src/cpu.
void write_entries(const index::IndexFile& index, const EntryTextPlan& plan,
                   const std::function<void(std::string_view text, const Progress& so_far)>& write);

}  // namespace warpmer::backend
