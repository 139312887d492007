#pragma once
/// Text read by several threads at once: a large file, or what is decompressed.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "io/blocks/block_source.h"
#include "io/blocks/speculative_turns.h"
#include "io/fastx/record_reader.h"
#include "io/fastx/text_reader.h"
#include "io/text/input_options.h"

namespace warpmer::io {

/// Blocks come from the source one after another, and records go on from one to the next. A thread that has
/// a block guesses where its first record begins, and parses the records in a copy of it, while others do so
/// with theirs. In the block's turn (`SpeculativeTurns`), what is left of the block before and what is in
/// front of the guess are read by the one reader of the stream (`TextReader`), and only if they are whole
/// records was the guess right. Otherwise, or without a guess, that reader reads the block, for a thread that
/// has nothing else to do then. So what is handed over is what reading from the beginning gives, and errors
/// are that reader's.
class SharedStreamReader {
 public:
  /// Returns the most bytes of a block that leave room in a batch.
  static std::size_t largest_block(const InputOptions& options);
  /// True when a file is so large that several threads should read it.
  static bool is_large(std::uint64_t disk_bytes, const InputOptions& options);

  /// `shown` is the file's name for messages. `cancelled` makes waiting end, and must be set before
  /// destruction if there is more to be read.
  SharedStreamReader(std::unique_ptr<BlockSource> source, const std::string& shown,
                     const InputOptions& options, const std::atomic<bool>& cancelled);

  /// Does the same as RecordReader::fill, by any number of threads at once; adds what the batch accounts for.
  bool fill(Batch& batch, ReaderShare& share);

  /// Returns the number of blocks whose records were parsed before their turn, and rightly.
  [[nodiscard]] std::uint64_t speculative_parses() const noexcept { return speculative_parses_; }

 private:
  /// The source that the reader reads: one block, and then the next.
  class Feed;
  /// A block that a thread has, and what becomes of it.
  struct ParsedBlock : SpeculativeBlock {
    BlockLease lease;
    std::optional<SpeculativeParse> parse;
    Batch* batch = nullptr;  ///< batch that what was parsed is in

    // Once it is accepted.
    std::vector<Piece> joined;         ///< the records in front of those that were parsed
    std::uint64_t records_before = 0;  ///< those that were parsed
    std::uint64_t records = 0;         ///< number of records that the batch completes or begins
    std::uint64_t batch_number = 0;
  };

  bool take(ParsedBlock& block, Batch& batch);
  bool take_left(std::unique_lock<std::mutex>& lock, BlockLease& lease);
  void leave(const BlockLease& lease);
  void wake_for_left();
  [[nodiscard]] bool has_turn(const BlockLease& left) const {
    return left.number == turns_.turn() && !is_turn_taken_;
  }
  std::optional<SpeculativeParse> parse_speculatively(const BlockLease& lease, Batch& batch) const;
  bool accept(ParsedBlock& block);
  void complete(const ParsedBlock& block, Batch& batch, ReaderShare& share);
  bool read_in_turn(const BlockLease& lease, Batch& batch, ReaderShare& share);
  void make_room();
  void end_turn();
  void end_all() noexcept;

  const std::unique_ptr<BlockSource> source_;
  const std::string shown_;
  const InputOptions options_;  ///< of a parse ahead of a block's turn, for which no record is cut: it may be
                                ///< mistaken in where records end, and cannot tell the end of the file
  const std::size_t most_room_;
  std::atomic<std::size_t> room_;  ///< in front of a block for what the one before leaves
  std::atomic<std::uint64_t> speculative_parses_ = 0;

  std::mutex mutex_;  ///< guards what follows
  SpeculativeTurns<ParsedBlock> turns_;
  /// Blocks that no thread has and that are read in their turns, by number: nothing was parsed before, or
  /// batches were filled of it, and there is more.
  std::vector<BlockLease> left_;
  std::condition_variable left_changed_;
  /// Set by a thread that reads a block that was left. Several may come to the end of the stream, and leave
  /// that.
  bool is_turn_taken_ = false;

  // These belong to the thread that has the turn.
  std::uint64_t next_batch_ = 0;
  std::uint64_t pending_bytes_ = 0;  ///< blocks in which no batch ended: the next one accounts for them
  Feed* feed_ = nullptr;             ///< feed of the reader
  std::unique_ptr<TextReader> reader_;
};

}  // namespace warpmer::io
