#pragma once
/// A large FASTQ file on disk, read by several threads at once.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "io/chunked_file.h"
#include "io/input_options.h"
#include "io/record_reader.h"
#include "io/text_reader.h"

namespace warpmer::io {

/// The file is cut in chunks of about a batch. Whoever takes a chunk guesses where its first record begins,
/// reads and parses it, and waits for the chunk before: only when that one's last record ends where this
/// one's first begins was the guess right. So what is handed over is what reading from the beginning would
/// have given, ordinals included. When a guess was wrong, or a chunk is damaged or out of the ordinary
/// (records of many lines, blank lines, long records), the file is read again from its beginning by one
/// thread at a time, and what has been handed over is left out: that reader knows all cases, and how to
/// name every error.
class SplitText {
 public:
  /// Whether a file of this size is worth it.
  static bool is_large(std::uint64_t disk_bytes, const InputOptions& options);

  /// `path` is a regular file, whose text begins with '@', of `known_bytes` at least. `shown` is its name for
  /// messages.
  SplitText(const std::string& path, std::string shown, const InputOptions& options,
            const std::atomic<bool>& cancelled, std::uint64_t known_bytes = 0);

  /// As RecordReader::fill, by any number of threads at once, in any order; adds what the batch accounts for.
  bool fill(Batch& batch, ReaderShare& share);

  /// Whether chunks did not do, and the file is read from its beginning.
  [[nodiscard]] bool is_in_order() {
    const std::lock_guard lock(mutex_);
    return in_order_;
  }

 private:
  /// Where the records of a parsed chunk begin and end in the file.
  struct Extent {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };

  std::optional<Extent> parse_chunk(std::uint64_t chunk, Batch& batch) const;
  bool fill_in_order(Batch& batch, ReaderShare& share);

  const std::string path_;
  const std::string shown_;
  const InputOptions options_;
  const std::atomic<bool>& cancelled_;
  const ChunkedFile file_;
  const std::uint64_t known_bytes_;
  const std::size_t slack_bytes_;  ///< read beyond a chunk, for its last record

  std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::uint64_t next_chunk_ = 0;
  std::uint64_t joined_ = 0;          ///< chunks known to be right, from the beginning
  std::uint64_t joined_bytes_ = 0;    ///< where they end
  std::uint64_t joined_records_ = 0;  ///< and what they hold
  std::uint64_t batches_ = 0;         ///< handed over: chunks, and what was read after them
  bool in_order_ = false;             ///< the rest is read from the beginning
  bool is_over_ = false;              ///< and there is no more of it
  std::unique_ptr<TextReader> reader_;
  std::uint64_t noted_records_ = 0, noted_bytes_ = 0;  ///< of `reader_`, accounted for
};

}  // namespace warpmer::io
