#pragma once
/// Decompressed text, read by several threads at once.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/input_options.h"
#include "io/read_ahead.h"
#include "io/record_reader.h"
#include "io/text_reader.h"

namespace warpmer::io {

/// Texts come from the stream one after another, and records go on from one to the next. Whoever takes a text
/// guesses where its first record begins, and parses the records in a copy of it, while others do so with
/// theirs. Then texts have their turns: what is left of the text before and what is in front of the guess are
/// read by the one reader of the stream (`TextReader`), and only if they are whole records was the guess
/// right. Otherwise, or without a guess, that reader reads the text in its turn, for whoever has nothing else
/// to do then. So what is handed over is what reading from the beginning gives, and errors are that reader's.
class SharedStreamReader {
 public:
  /// Whether texts of this size leave room in a batch.
  static bool suits(std::size_t text_bytes, const InputOptions& options);

  /// `shown` is the file's name for messages. `cancelled` makes waiting end, and must be set before
  /// destruction if there is more to be read.
  SharedStreamReader(std::unique_ptr<ReadAhead> source, const std::string& shown, const InputOptions& options,
                     const std::atomic<bool>& cancelled);

  /// As RecordReader::fill, by any number of threads at once.
  bool fill(Batch& batch, ReaderShare& share);

  /// Texts whose records were parsed before their turn, and rightly.
  [[nodiscard]] std::uint64_t speculative_parses() const noexcept { return speculative_parses_; }

 private:
  /// What the reader reads: one text, and then the next.
  class Feed;
  /// A text that somebody has, and what becomes of it.
  struct Text {
    BlockLease lease;
    std::optional<SpeculativeParse> ahead;
    Batch* batch = nullptr;  ///< where what was parsed ahead is

    std::condition_variable changed;
    bool is_taken_over = false;        ///< ahead was right, and it is the next text's turn
    std::vector<Piece> joined;         ///< the records in front of those ahead
    std::uint64_t records_before = 0;  ///< those ahead
    std::uint64_t records = 0;         ///< that the batch completes or begins
    std::uint64_t batch_number = 0;
  };

  std::optional<SpeculativeParse> parse_speculatively(std::string_view text, Batch& batch) const;
  std::optional<BlockLease> take_left(std::unique_lock<std::mutex>& lock);
  void leave(const BlockLease& lease);
  bool await_turn(std::unique_lock<std::mutex>& lock, Text& text);
  bool take_over(Text& text);
  void complete(const Text& text, Batch& batch, ReaderShare& share);
  bool read_in_turn(const BlockLease& lease, Batch& batch, ReaderShare& share);
  void end_turn();
  void end_all() noexcept;

  const std::unique_ptr<ReadAhead> source_;
  const std::string shown_;
  const InputOptions options_;
  const std::atomic<bool>& cancelled_;
  std::atomic<std::size_t> most_left_;  ///< room in front of a text for what the one before leaves
  std::atomic<std::uint64_t> speculative_parses_ = 0;

  std::mutex mutex_;            ///< guards what follows
  std::vector<Text*> waiting_;  ///< for their turns
  std::uint64_t turn_ = 0;      ///< number of the text that comes next
  /// Texts that nobody has and that are read in their turns, by number: nothing was parsed ahead, or batches
  /// were filled of it, and there is more.
  std::vector<BlockLease> left_;
  std::condition_variable left_changed_;
  bool is_over_ = false;
  std::uint64_t next_batch_ = 0;
  Feed* feed_ = nullptr;  ///< of the reader
  std::unique_ptr<TextReader> reader_;
};

}  // namespace warpmer::io
