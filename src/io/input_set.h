#pragma once
/// Inputs: any mix of FASTA and FASTQ (plain, gzip, BGZF), BAM and CRAM, from files and stdin.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/fastx/input_shares.h"
#include "io/text/batch.h"
#include "io/text/input_options.h"

namespace warpmer::io {

/// The progress of reading; on-disk bytes. `bytes_total` is 0 when unknown (a pipe).
struct InputProgress {
  std::uint64_t bytes_done = 0;
  std::uint64_t bytes_total = 0;
};

/// All inputs of a job. `next` may be called from any number of threads at once.
class InputSet {
 public:
  /// `paths`: files, and "-" for standard input (once); lists have been expanded (io/text/input_list.h).
  /// Opens nothing; checks that every file exists and can be read, the reference too, and throws InputError
  /// naming the first that cannot. UsageError when there is no input, or a pipe is to be sampled.
  InputSet(const std::vector<std::string>& paths, const InputOptions& options);
  /// Opens what process `owner` reads of inputs that have been shared out. Checks the reference in advance.
  InputSet(const InputShares& shares, std::uint32_t owner, const InputOptions& options);
  ~InputSet();

  /// Large FASTA and FASTQ files, or parts of them, are handed over as text from now on
  /// (Batch::raw_format), in such memory, which outlives the batches; if all inputs can be read again
  /// should that turn out to be wrong. To be called before the first `next`.
  void enable_raw_text(const TextMemory& memory);
  /// Does the same with FASTQ files alone. Looks into the inputs, and returns how many are such files.
  std::size_t enable_raw_fastq(const TextMemory& memory);

  /// Fills `batch` with the next pieces; false when every input is exhausted. Throws InputError
  /// (file, record, what) for malformed, corrupt or truncated input. After a throw, or `cancel`,
  /// every later call throws or returns false at once.
  bool next(Batch& batch);

  /// Makes all present and future calls of `next` return false soon.
  void cancel() noexcept;

  [[nodiscard]] InputProgress progress() const noexcept;
  /// Returns the whole that shares of the input are told of (Batch::input_bytes): bytes of all inputs, 0 when
  /// that is unknown or would say little (bytes_of_alike).
  [[nodiscard]] std::uint64_t alike_bytes() const;
  /// Returns the number of inputs of which only the beginning is read, when a sample is wanted; it is known
  /// once they are open.
  [[nodiscard]] std::uint64_t begun_inputs() const noexcept;
  /// Returns all inputs, in the order given.
  [[nodiscard]] const std::vector<std::string>& files() const noexcept;
  /// Returns the bytes of host memory that reading with these options may hold at any time, buffers of
  /// `batches` batches in flight included (for the memory plan). Looks at the beginnings of CRAM files;
  /// InputError for damage there. Not foreseen: a record longer than a batch, which takes up to four times
  /// its text until it is done with; CRAM from a pipe, and slices that are larger than those in the beginning
  /// of a file: both are refused where they take more than long records may.
  [[nodiscard]] std::uint64_t memory_bytes(unsigned batches) const;
  /// Records seen so far; not those of text that was handed over as it is in the file.
  [[nodiscard]] std::uint64_t records() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace warpmer::io
