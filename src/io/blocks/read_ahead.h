#pragma once
/// Decompression ahead of the readers: a ring of buffers is filled in order, by threads of its own or by the
/// readers themselves, and readers empty it.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "file/byte_source.h"
#include "io/blocks/block_source.h"

namespace warpmer::io {

/// One buffer of the ring on its way through `load` and `work`.
struct TextBlock {
  std::unique_ptr<char[]> raw;  ///< bytes as on disk; allocated by the loader if it needs it
  std::size_t raw_size = 0;
  bool is_urgent = false;        ///< less than half of the ring is ready for readers
  std::unique_ptr<char[]> text;  ///< decompressed; `TextBlockLoader::text_capacity` bytes
  std::size_t text_size = 0;
  bool has_more = false;          ///< than this text: `hand_over` is going to put it here
  std::uint64_t disk_bytes = 0;   ///< bytes of the file that this block used up
  bool is_handed_over = false;    ///< true when a reader has it, at least in part
  std::shared_ptr<void> scratch;  ///< whatever `work` wants to keep for the next time
};

/// Cuts a compressed stream into blocks, and decompresses them.
class TextBlockLoader {
 public:
  TextBlockLoader() = default;
  virtual ~TextBlockLoader() = default;
  TextBlockLoader(const TextBlockLoader&) = delete;
  TextBlockLoader& operator=(const TextBlockLoader&) = delete;

  [[nodiscard]] virtual std::size_t text_capacity() const noexcept = 0;
  /// Takes the next block off the stream: called by one thread at a time, in stream order. False at
  /// the end, and then the block is not used.
  virtual bool load(TextBlock& block) = 0;
  /// Finishes a loaded block: called by any number of threads at once, each with its own block.
  virtual void work(TextBlock& block) = 0;
  /// Called by one thread at a time, in stream order, before the text of a block is read: makes it ready.
  /// True if the block has more: then called again when that text has been read, to put the next in its
  /// place.
  virtual bool hand_over(TextBlock& /*block*/) { return false; }
  /// Makes the threads return soon that wait in `work`: the stream is not read any more.
  virtual void stop() noexcept {}
};

/// The decompressed stream. Errors of the loader come up where the stream reaches them, after all the
/// blocks before them. It is read either as bytes, or as texts that are borrowed.
class ReadAhead final : public file::ByteSource, public BlockSource {
 public:
  /// Starts `threads` threads. `cancelled` must be set before destruction if the stream was not read
  /// to its end and may be waiting for a pipe. With 0 threads the `readers`, which borrow texts, decompress
  /// them: one at a time, which goes on as long as others wait for what it makes.
  ReadAhead(std::unique_ptr<TextBlockLoader> loader, unsigned threads, const std::atomic<bool>& cancelled,
            unsigned readers = 1);
  ~ReadAhead() override;

  std::size_t read(char* into, std::size_t size) override;
  [[nodiscard]] std::uint64_t disk_bytes() const noexcept override { return disk_bytes_; }

  BlockLease borrow() override;
  void give_back(const BlockLease& lease) override;
  void copy(const BlockLease& lease, std::size_t begin, std::span<char> into) override;
  [[nodiscard]] std::size_t block_capacity() const noexcept override { return loader_->text_capacity(); }

  /// Blocks that a stream decompressed by `threads` threads may hold at once; with 0 threads, one read by
  /// `readers`: each of them may have a text, one that was begun may belong to none, and one is being filled.
  static unsigned ring_size(unsigned threads, unsigned readers = 0) {
    return threads == 0 ? readers + 2 : 2 * threads + 2;
  }

 private:
  enum class SlotState { empty, filling, ready, lent };
  struct RingSlot {
    TextBlock block;
    std::exception_ptr error;
    SlotState state = SlotState::empty;
    bool has_more = false;  ///< than the text that is lent
  };

  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  void run();
  bool produce();
  bool claim(RingSlot& slot);
  void produce_as_reader(std::unique_lock<std::mutex>& lock);
  RingSlot* await_ready();
  void lend(RingSlot& slot, BlockLease& lease);
  void await_return();
  [[nodiscard]] bool stopping() const { return stopping_.load() || cancelled_.load(); }

  std::unique_ptr<TextBlockLoader> loader_;
  const std::atomic<bool>& cancelled_;
  std::atomic<bool> stopping_ = false;

  std::mutex load_mutex_;           ///< held while a block is taken off the stream
  std::uint64_t next_to_load_ = 0;  ///< guarded by load_mutex_
  /// Set also by a thread whose work failed, which must not wait for the lock: its holder may be
  /// waiting for the very slot that thread is about to complete.
  std::atomic<bool> is_loaded_to_end_ = false;

  std::mutex ring_mutex_;  ///< guards the state of every slot, and what follows
  std::condition_variable is_free_;
  std::condition_variable is_ready_;
  std::condition_variable is_returned_;
  std::uint64_t end_ = kNone;    ///< number of blocks, once known
  std::size_t ready_count_ = 0;  ///< slots that are ready, and not lent yet
  bool is_reader_producing_ = false;
  std::uint64_t open_ = kNone;  ///< number of the block produced last, if more is to be lent of it
  std::vector<RingSlot> ring_;

  std::atomic<unsigned> borrowing_ = 0;  ///< readers that want a text

  std::mutex borrow_mutex_;         ///< held while a text is borrowed; guards what follows
  std::uint64_t next_to_read_ = 0;  ///< number of the block
  std::uint64_t next_text_ = 0;     ///< number of the text
  bool is_in_block_ = false;        ///< the block's text is lent, and more will be in the same place
  std::exception_ptr failure_;

  BlockLease reading_;  ///< the rest belongs to the thread that reads bytes
  bool is_reading_ = false;
  std::uint64_t disk_bytes_ = 0;

  std::vector<std::thread> threads_;
};

}  // namespace warpmer::io
