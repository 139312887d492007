#pragma once
/// Speculative work on the blocks of a stream, by several threads at once.
///
/// The contents of a block depend on all blocks before it: on where its first record begins, or on the text
/// that its data refer back to. A thread that has a block guesses that, and works on the block as if it was
/// so. Then the blocks have their turns, in order. In a block's turn its guess is checked against what the
/// block before has left. If it is right, the work is accepted as it is; if not, or if nothing was guessed,
/// the block is worked on again, in its turn. So a wrong guess costs time, and can do no other harm.

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "file/input_error.h"

namespace warpmer::io {

/// A block as its turn knows it.
struct SpeculativeBlock {
  std::uint64_t number = 0;              ///< in the stream, from 0
  bool is_accepted = false;              ///< its guess was right, and its turn is over
  std::condition_variable has_its_turn;  ///< or is accepted
};

/// The turns of blocks; `Block` is a SpeculativeBlock. A mutex of the owner guards it, which every caller
/// holds.
template <class Block>
class SpeculativeTurns {
 public:
  /// `accept` checks the guess of a block whose turn it is; if it is right, takes the block's work over and
  /// returns true. It is called once for each block that waits for its turn, in order.
  /// With `cancelled` set there are no more turns.
  SpeculativeTurns(std::function<bool(Block&)> accept, const std::atomic<bool>& cancelled)
      : accept_(std::move(accept)), cancelled_(cancelled) {}

  /// Returns the number of the block whose turn it is.
  [[nodiscard]] std::uint64_t turn() const noexcept { return turn_; }
  [[nodiscard]] bool are_over() const noexcept { return are_stopped_ || cancelled_.load(); }

  /// Waits until the block is accepted or, if it is not, has its turn, which goes on until `end`. False if
  /// there are no more turns.
  bool await(std::unique_lock<std::mutex>& lock, Block& block) {
    if (turn_ != block.number) {
      waiting_.push_back(&block);
      while (!block.is_accepted && turn_ != block.number && !are_over())
        block.has_its_turn.wait_for(lock, file::kCancelCheck);
      std::erase(waiting_, &block);
      return block.is_accepted || (turn_ == block.number && !are_over());
    }
    if (are_over()) return false;
    block.is_accepted = accept_(block);
    if (block.is_accepted) end();
    return true;
  }

  /// Ends the turn. The blocks that wait next are checked here as long as they are accepted: to wake a thread
  /// for each would take longer.
  void end() {
    bool goes_on = true;
    while (goes_on) {
      ++turn_;
      const auto next = std::find_if(waiting_.begin(), waiting_.end(),
                                     [&](const Block* block) { return block->number == turn_; });
      if (next == waiting_.end()) return;
      Block& block = **next;
      goes_on = block.is_accepted = accept_(block);
      block.has_its_turn.notify_one();
    }
  }

  /// Lets no more turns begin. What is accepted remains so.
  void stop() noexcept {
    are_stopped_ = true;
    for (Block* const block : waiting_) block->has_its_turn.notify_one();
  }

 private:
  const std::function<bool(Block&)> accept_;
  const std::atomic<bool>& cancelled_;
  std::vector<Block*> waiting_;
  std::uint64_t turn_ = 0;
  bool are_stopped_ = false;
};

}  // namespace warpmer::io
