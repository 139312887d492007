#pragma once
/// The k-mers that a job is to count, and no others.

#include <cstdint>
#include <memory>
#include <optional>

#include "backend/sample_session.h"
#include "index/index_file.h"
#include "jobs/count_job.h"
#include "jobs/temporary_index.h"

namespace warpmer::jobs {

/// Has them as an index: the one that `CountOptions::only` names, or one that is made of the sequences or the
/// list there, in the directory of temporary files.
class OnlyKmers {
 public:
  /// UsageError for an index of another k or strand; InputError for what is none of these; errors of counting
  /// the sequences. The resources of `job` are settled.
  explicit OnlyKmers(const CountOptions& job);

  [[nodiscard]] const index::IndexFile& index() const { return *index_; }

 private:
  std::unique_ptr<TemporaryIndex> temporary_;
  std::optional<index::IndexFile> index_;
};

/// Makes a session that passes on to another what of its batches are k-mers of an index, which must live as
/// long: it has no others to store. `threads` call it; they pass on `batch_bytes` of text at a time, about.
std::unique_ptr<backend::CountingSession> make_only_session(std::unique_ptr<backend::CountingSession> session,
                                                            const index::IndexFile& only, bool is_lenient,
                                                            unsigned threads, std::size_t batch_bytes);
/// Makes one that passes on the same of batches of a sample, of each before `add` returns.
std::unique_ptr<backend::SampleSession> make_only_sample(std::unique_ptr<backend::SampleSession> session,
                                                         const index::IndexFile& only, bool is_lenient,
                                                         unsigned threads, std::size_t batch_bytes);
/// Returns the bytes that either holds, of an index whose file has `only_bytes`.
std::uint64_t only_session_bytes(std::uint64_t only_bytes, unsigned threads, std::size_t batch_bytes);

}  // namespace warpmer::jobs
