#pragma once
/// Batches that several threads read side by side, and that are taken in order.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>

#include "base/buffer_pool.h"
#include "io/input_set.h"

namespace warpmer::io {

/// Reads of a batch; others of it may belong to somebody else.
struct BatchPart {
  std::shared_ptr<Batch> batch;
  std::size_t first = 0, end = 0;  ///< pieces

  [[nodiscard]] std::size_t size() const { return end - first; }
  [[nodiscard]] const Piece& piece(std::size_t i) const { return batch->pieces[first + i]; }
  /// Returns the bytes of text that these reads have.
  [[nodiscard]] std::size_t text_bytes() const;
  /// Appends the reads to a batch. Nobody may use other reads of a batch that is taken as a whole.
  void append_to(Batch& to) const;
};

/// Reads of some inputs, in order. All of it is called under one lock of the caller's.
class OrderedBatches {
 public:
  /// `inputs` are read in order. At most so many batches are held, those that are read included: one thread
  /// that is late keeps the others from reading on and on.
  OrderedBatches(std::unique_ptr<InputSet> inputs, bool one_caller, std::size_t most_held)
      : inputs_(std::move(inputs)), one_caller_(one_caller), most_held_(most_held) {}

  /// Says what there is to be taken now.
  enum class BatchState : std::uint8_t {
    ready,    ///< `front` has reads, or a header
    waiting,  ///< a thread has to read, or does so
    over,
  };
  /// Throws what reading has thrown, when all before it is taken.
  [[nodiscard]] BatchState state() const;
  /// Return the batch whose reads come next, if the state is ready, how many of it are left, and the next
  /// one.
  [[nodiscard]] const Batch& front() const { return *ready_.front(); }
  [[nodiscard]] std::size_t left() const { return front().pieces.size() - taken_; }
  [[nodiscard]] const Piece& next_piece() const { return front().pieces[taken_]; }
  /// Takes so many of them; all of a batch that has none.
  BatchPart take(std::size_t reads);

  /// True when another thread may read.
  [[nodiscard]] bool may_read() const {
    return !has_ended_ && (!one_caller_ || readers_ == 0) &&
           ready_.size() + early_.size() + readers_ < most_held_;
  }
  /// Returns the number of batches that can be taken.
  [[nodiscard]] std::size_t ready() const { return ready_.size(); }
  /// Reads a batch, without the lock meanwhile. What reading throws is thrown by `state`.
  void read(std::unique_lock<std::mutex>& lock);

  /// Needs no lock.
  [[nodiscard]] std::uint64_t alike_bytes() const { return inputs_->alike_bytes(); }
  void cancel() noexcept { inputs_->cancel(); }

 private:
  BufferPool<Batch> pool_;
  const std::unique_ptr<InputSet> inputs_;
  const bool one_caller_;
  const std::size_t most_held_;
  std::deque<std::shared_ptr<Batch>> ready_;               ///< in order
  std::map<std::uint64_t, std::shared_ptr<Batch>> early_;  ///< by ordinal: some before them are not there yet
  std::uint64_t next_ordinal_ = 0;                         ///< of the batch behind those that are ready
  std::size_t taken_ = 0;                                  ///< reads of the first
  unsigned readers_ = 0;
  bool has_ended_ = false;  ///< there is no more to be read
  std::exception_ptr error_;
};

}  // namespace warpmer::io
