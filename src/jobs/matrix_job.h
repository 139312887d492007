#pragma once
/// Making and extending tables of k-mers and samples.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/indexes/set_session.h"
#include "file/output/buffered_output.h"
#include "formats/text/matrix_file.h"
#include "jobs/session_run.h"

namespace warpmer::jobs {

struct MatrixOptions {
  std::vector<std::string> inputs;              ///< one or more indexes
  std::vector<std::string> samples;             ///< names of the samples
  std::vector<backend::CountBounds> of_inputs;  ///< one for each: which counts to look at
  formats::MatrixFile* old = nullptr;           ///< a matrix to add the inputs to
  bool presence = false;                        ///< not with `old`, which knows
  std::uint64_t min_samples = 1;                ///< number of samples that must have a k-mer
  bool compress = false;                        ///< BGZF
  /// Told k and all samples before memory is shared out; then the text is rows alone. Empty: it has its lines
  /// of what the matrix is.
  std::function<void(std::uint32_t k, const std::vector<std::string>& samples)> begin_table;
  host::Resources resources;
};

/// Gives a matrix to `write`, piece by piece and in order, from one thread at a time, with the share of it
/// that is there with each, about. No more than parts of shards and some rows are in memory. The text is the
/// same for any number of threads, and that of an extended matrix is that of all its samples at once.
/// InputError for an old matrix of another k or strand than the inputs, or from which k-mers were left out
/// that would now be missed.
void write_matrix(const MatrixOptions& options, backend::JobProgress& progress,
                  const std::function<void(std::string_view text, const Progress& so_far)>& write);

}  // namespace warpmer::jobs
