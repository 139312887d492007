// Blocks that several threads work on before their turns: turns come in order, and a wrong guess costs a
// turn.

#include "io/blocks/speculative_turns.h"

#include <doctest/doctest.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace warpmer::io {
namespace {

struct Guess : SpeculativeBlock {
  bool is_right = false;
};

/// Threads that take one block after another, of which every fifth was guessed wrong.
class Stream {
 public:
  explicit Stream(std::uint64_t blocks, std::uint64_t stops_at) : blocks_(blocks), stops_at_(stops_at) {}

  void work() {
    for (std::uint64_t number; (number = next_++) < blocks_;) {
      Guess block;
      block.number = number;
      block.is_right = number % 5 != 0;
      std::unique_lock lock(mutex_);
      if (!turns_.await(lock, block)) return;
      if (block.is_accepted) continue;
      lock.unlock();
      std::this_thread::yield();
      done_.push_back(number);  // which belongs to the one that has the turn
      lock.lock();
      if (number == stops_at_) return turns_.stop();
      turns_.end();
    }
  }

  std::vector<std::uint64_t> done_;
  std::uint64_t accepted_ = 0, refused_ = 0;
  std::atomic<bool> cancelled_ = false;

 private:
  bool accept(const Guess& block) {
    if (!block.is_right) {
      ++refused_;
      return false;
    }
    ++accepted_;
    done_.push_back(block.number);
    return true;
  }

  const std::uint64_t blocks_;
  const std::uint64_t stops_at_;
  std::atomic<std::uint64_t> next_ = 0;
  std::mutex mutex_;
  SpeculativeTurns<Guess> turns_{[this](Guess& block) { return accept(block); }, cancelled_};
};

void run(Stream& stream) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { stream.work(); });
}

}  // namespace

TEST_CASE("io speculative turns: come in order, and each guess is checked once") {
  constexpr std::uint64_t kBlocks = 5000;
  Stream stream(kBlocks, kBlocks);
  run(stream);
  REQUIRE(stream.done_.size() == kBlocks);
  for (std::uint64_t i = 0; i < kBlocks; ++i) REQUIRE(stream.done_[i] == i);
  CHECK(stream.accepted_ == kBlocks - kBlocks / 5);
  CHECK(stream.refused_ == kBlocks / 5);
}

TEST_CASE("io speculative turns: after a stop there are none") {
  for (const std::uint64_t last : {0U, 5U, 500U}) {
    Stream stream(1000, last);
    run(stream);
    CHECK(stream.done_.size() == last + 1);
  }
  Stream stream(1000, 1000);
  stream.cancelled_ = true;
  run(stream);
  CHECK(stream.done_.empty());
}

}  // namespace warpmer::io
