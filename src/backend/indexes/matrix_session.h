#pragma once
/// Rows of a table of k-mers and samples, made of indexes.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "backend/indexes/set_session.h"
#include "file/output/ordered_text.h"
#include "formats/text/matrix_file.h"
#include "index/index_file.h"

namespace warpmer::backend {

struct MatrixPlan {
  bool presence = false;               ///< 1 for a sample that has the k-mer; else its count
  std::uint32_t min_samples = 1;       ///< number of samples that must have a k-mer, of all in the matrix
  std::vector<CountBounds> of_inputs;  ///< one for each index: what else of it is as if it were not there
  WorkingMemory memory;                ///< ResourceError beyond
};

/// Makes rows, piece by piece.
class MatrixSession {
 public:
  virtual ~MatrixSession() = default;
  /// Makes rows until there are no more, and puts them into `text`; called concurrently, with a different
  /// `thread` each. Texts stand for k-mers of the indexes, or for bytes of the old matrix
  /// (TextBuffer::add_done). Calls `shards_done(n)` when the first n shards are through, or about. InputError
  /// for a shard or a row that is damaged, ResourceError when memory is short.
  virtual void write_rows(unsigned thread, file::OrderedText& text,
                          const std::function<void(std::uint32_t)>& shards_done) = 0;
  /// Makes `write_rows` return soon.
  virtual void cancel() noexcept = 0;
};

/// Makes a session on the CPU (src/cpu). There is a row for each k-mer, in the order of indexes
/// (docs/index-format.md), and in it a number for each index. The indexes, at least one, all of the same
/// parameters, must live as long. If there is an `old` matrix, for k-mers of the indexes' k and strand, its
/// rows are among them, with these numbers behind those that they have. ResourceError for memory that leaves
/// nothing to work in.
std::unique_ptr<MatrixSession> make_cpu_matrix(const MatrixPlan& plan,
                                               const std::vector<index::IndexFile>& inputs,
                                               formats::MatrixFile* old);

}  // namespace warpmer::backend
