#pragma once
/// Parts of an input that stand for the whole: evenly spread chunks of a FASTA or FASTQ file, or the
/// beginning of what can be read in order only.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "io/fastx/plain_text.h"
#include "io/fastx/record_reader.h"
#include "io/fastx/text_reader.h"
#include "io/text/input_options.h"

namespace warpmer::io {

/// Reads some of the chunks of a file on disk (io/fastx/plain_text.h), the first of all and others as far
/// apart as can be; k-mers that reach from one chunk into the next are not there. A chunk whose first record
/// is out of sight (a read of more than a megabyte) is left out.
class SampleReader final : public RecordReader {
 public:
  /// `share` of the file is read, at least a chunk. `file` is a regular one whose text begins with '@' or
  /// '>', as `format` says.
  SampleReader(const InputFile& file, RawFormat format, const InputOptions& options, double share,
               const std::atomic<bool>& cancelled);

  /// True when records are found in the middle of the file; if not, it has to be read in order.
  [[nodiscard]] bool finds_records() const;

  bool fill(Batch& batch) override;
  [[nodiscard]] std::uint64_t records() const noexcept override;
  [[nodiscard]] std::uint64_t disk_bytes() const noexcept override { return disk_bytes_; }
  [[nodiscard]] std::string place() const override;

 private:
  /// Records as they stand in the file, and where they begin.
  struct Sample {
    std::string text;
    std::uint64_t offset = 0;
  };

  [[nodiscard]] std::uint64_t chunk_of(std::uint64_t sample) const;
  [[nodiscard]] std::optional<Sample> read(std::uint64_t chunk) const;
  bool open_next();

  const std::string shown_;
  const InputOptions options_;
  const RawChunks chunks_;
  const std::uint64_t samples_;  ///< chunks that are read
  std::uint64_t next_sample_ = 0;
  std::uint64_t offset_ = 0;  ///< offset in the sample being read
  std::uint64_t records_ = 0, disk_bytes_ = 0;
  std::unique_ptr<TextReader> reader_;
};

/// The beginning of any input: whole batches of another reader, until they account for `bytes` on disk.
class BeginningReader final : public RecordReader {
 public:
  BeginningReader(std::unique_ptr<RecordReader> reader, std::uint64_t bytes)
      : reader_(std::move(reader)), bytes_(bytes) {}

  bool fill(Batch& batch) override { return reader_->disk_bytes() < bytes_ && reader_->fill(batch); }
  [[nodiscard]] std::uint64_t records() const noexcept override { return reader_->records(); }
  [[nodiscard]] std::uint64_t disk_bytes() const noexcept override { return reader_->disk_bytes(); }

 private:
  std::unique_ptr<RecordReader> reader_;
  std::uint64_t bytes_;
};

}  // namespace warpmer::io
