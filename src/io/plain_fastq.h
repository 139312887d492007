#pragma once
/// A large FASTQ file on disk, handed over as text by several threads at once: for backends that find its
/// records themselves.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "io/chunked_file.h"
#include "io/input.h"
#include "io/record_reader.h"

namespace warpmer::io {

/// The file is cut in chunks of about a batch. Where the first record of a chunk begins is guessed, from the
/// same characters by whoever takes the chunk and by whoever takes the one before, which ends there. The
/// first begins with the file. So if each text that is handed over is whole records of four lines
/// (Batch::is_fastq), each begins where a record begins, and together they are what reading from the
/// beginning would have given. Whatever stands in the way of that, an error of the disk or a record without
/// an end, is NotPlainFastq.
class PlainFastqText {
 public:
  /// Whether a file of this size is worth it.
  static bool is_large(std::uint64_t disk_bytes, const InputOptions& options);

  /// `path` is a regular file, whose text begins with '@'. Batches get their text in `memory`.
  PlainFastqText(const std::string& path, const InputOptions& options, const TextMemory& memory,
                 const std::atomic<bool>& cancelled);

  /// As RecordReader::fill, by any number of threads at once, in any order; adds to `disk_bytes`.
  bool fill(Batch& batch, std::uint64_t& disk_bytes);

 private:
  const ChunkedFile file_;
  const std::size_t guess_bytes_;  ///< of a chunk, that are looked at to find its first record
  const TextMemory& memory_;
  const std::atomic<bool>& cancelled_;
  std::atomic<std::uint64_t> next_chunk_{0};
};

/// One thread's share of a PlainFastqText.
class PlainFastqReader final : public RecordReader {
 public:
  explicit PlainFastqReader(std::shared_ptr<PlainFastqText> text) : text_(std::move(text)) {}

  bool fill(Batch& batch) override { return text_->fill(batch, disk_bytes_); }
  /// Nobody has counted them yet.
  [[nodiscard]] std::uint64_t records() const noexcept override { return 0; }
  [[nodiscard]] std::uint64_t disk_bytes() const noexcept override { return disk_bytes_; }
  [[nodiscard]] std::unique_ptr<RecordReader> another() const override {
    return std::make_unique<PlainFastqReader>(text_);
  }

 private:
  std::shared_ptr<PlainFastqText> text_;
  std::uint64_t disk_bytes_ = 0;
};

}  // namespace warpmer::io
