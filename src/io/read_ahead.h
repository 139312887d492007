#pragma once
/// Decompression in the background: threads of its own fill a ring of buffers in order, a reader
/// empties them, and neither waits for the other while there is room.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "io/byte_source.h"

namespace warpmer::io {

/// One buffer of the ring on its way through `load` and `work`.
struct Portion {
  std::unique_ptr<char[]> raw;  ///< as on disk; allocated by the loader if it needs it
  std::size_t raw_size = 0;
  bool is_urgent = false;        ///< less than half of the ring is ready for the reader
  std::unique_ptr<char[]> text;  ///< decompressed; `PortionLoader::text_capacity` bytes
  std::size_t text_size = 0;
  std::uint64_t disk_bytes = 0;   ///< of the file that this portion used up
  bool is_handed_over = false;    ///< to the reader, at least in part
  std::shared_ptr<void> scratch;  ///< whatever `work` wants to keep for the next time
};

/// Cuts a compressed stream into portions, and decompresses them.
class PortionLoader {
 public:
  PortionLoader() = default;
  virtual ~PortionLoader() = default;
  PortionLoader(const PortionLoader&) = delete;
  PortionLoader& operator=(const PortionLoader&) = delete;

  [[nodiscard]] virtual std::size_t text_capacity() const noexcept = 0;
  /// Takes the next portion off the stream: called by one thread at a time, in stream order. False at
  /// the end, and then the portion is not used.
  virtual bool load(Portion& portion) = 0;
  /// Finishes a loaded portion: called by any number of threads at once, each with its own portion.
  virtual void work(Portion& portion) = 0;
  /// Called by the reader, in stream order, before it reads the text of a portion, and again when it has read
  /// that: makes the text ready, or the rest of it. False when the reader has had all of it.
  virtual bool hand_over(Portion& portion) { return !std::exchange(portion.is_handed_over, true); }
  /// Makes those return soon who wait in `work`: nobody reads any more.
  virtual void stop() noexcept {}
};

/// The decompressed stream. Errors of the loader come up where the stream reaches them, after all the
/// portions before them.
class ReadAhead final : public ByteSource {
 public:
  /// Starts `threads` threads. `cancelled` must be set before destruction if the stream was not read
  /// to its end and may be waiting for a pipe.
  ReadAhead(std::unique_ptr<PortionLoader> loader, unsigned threads, const std::atomic<bool>& cancelled);
  ~ReadAhead() override;

  std::size_t read(char* into, std::size_t size) override;
  [[nodiscard]] std::uint64_t disk_bytes() const noexcept override { return disk_bytes_; }

  /// Portions that a stream read by `threads` threads may hold at once.
  static unsigned ring_size(unsigned threads) { return 2 * threads + 2; }

 private:
  enum class SlotState { empty, filling, ready };
  struct Slot {
    Portion portion;
    std::exception_ptr error;
    SlotState state = SlotState::empty;
  };

  void run();
  bool produce();
  bool claim(Slot& slot);
  Slot* await_ready();
  bool begin_portion();
  void end_portion();
  [[nodiscard]] bool stopping() const { return stopping_.load() || cancelled_.load(); }

  std::unique_ptr<PortionLoader> loader_;
  const std::atomic<bool>& cancelled_;
  std::atomic<bool> stopping_ = false;

  std::mutex load_mutex_;           ///< held while a portion is taken off the stream
  std::uint64_t next_to_load_ = 0;  ///< guarded by load_mutex_
  /// Set also by a thread whose work failed, which must not wait for the lock: its holder may be
  /// waiting for the very slot that thread is about to complete.
  std::atomic<bool> is_loaded_to_end_ = false;

  std::mutex ring_mutex_;  ///< guards the state of every slot, and what follows
  std::condition_variable is_free_;
  std::condition_variable is_ready_;
  std::uint64_t end_ = ~std::uint64_t{0};  ///< number of portions, once known
  std::size_t ready_count_ = 0;            ///< slots that are ready
  std::vector<Slot> ring_;

  std::uint64_t next_to_read_ = 0;  ///< the rest belongs to the reader
  Portion* reading_ = nullptr;
  std::size_t read_in_portion_ = 0;
  std::uint64_t disk_bytes_ = 0;

  std::vector<std::thread> threads_;
};

}  // namespace warpmer::io
