// The queue of shards on their way to the file: in which order which thread gets them. No device is used.

#include <doctest/doctest.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/thread_team.h"
#include "kernels/freeze/frozen_chunk.cuh"
#include "kernels/session/shard_queue.cuh"

namespace {

using namespace warpmer;
using namespace warpmer::gpu;

FrozenChunk chunk_of(std::uint32_t first_shard, std::uint32_t shards) {
  FrozenChunk chunk;
  chunk.first_shard = first_shard;
  chunk.strings.resize(shards);
  return chunk;
}

std::optional<std::uint32_t> number(const std::optional<ShardQueue::QueuedShard>& item) {
  return item ? std::optional(item->shard()) : std::nullopt;
}

TEST_CASE("shards leave in order, as far as they are there") {
  ShardQueue queue(2);
  queue.put(chunk_of(10, 2), 1);
  CHECK(number(queue.take(false)) == 10);
  queue.put(chunk_of(0, 2), 0);
  CHECK(number(queue.try_take_after(10, false)) == 11);  // not one before, which is another thread's
  CHECK_FALSE(queue.try_take_after(11, false));
  CHECK(number(queue.take(false)) == 0);
  CHECK(number(queue.take(false)) == 1);
  queue.close(0);
  queue.close(1);
  CHECK_FALSE(queue.take(false));
}

TEST_CASE("strictly in order: nothing of a GPU before all of those before it") {
  ShardQueue queue(3);
  queue.put(chunk_of(10, 1), 1);
  CHECK_FALSE(queue.try_take_after(0, true));
  queue.put(chunk_of(0, 1), 0);
  CHECK(number(queue.take(true)) == 0);
  CHECK_FALSE(queue.try_take_after(0, true));
  queue.close(2);  // which has none
  CHECK_FALSE(queue.try_take_after(0, true));
  queue.close(0);
  CHECK(number(queue.try_take_after(0, true)) == 10);
  queue.close(1);
  CHECK_FALSE(queue.take(true));
}

TEST_CASE("a chunk is waited for until all of its shards are fetched") {
  ShardQueue queue(1);
  queue.put(chunk_of(5, 2), 0);
  const auto first = queue.take(true), second = queue.take(true);
  std::thread fetching([&] {
    queue.fetched(*second);
    queue.fetched(*first);
  });
  queue.wait_for(5);
  fetching.join();
}

TEST_CASE("after a failure nothing is put, waited for or taken") {
  ShardQueue queue(1);
  queue.put(chunk_of(0, 1), 0);
  queue.fail(std::make_exception_ptr(std::runtime_error("first")));
  queue.fail(std::make_exception_ptr(std::runtime_error("second")));
  CHECK_THROWS_WITH(queue.put(chunk_of(1, 1), 0), "first");
  CHECK_THROWS_WITH(queue.wait_for(0), "first");
  CHECK_FALSE(queue.take(false));
  CHECK_FALSE(queue.try_take_after(0, false));
}

/// Takes shards as the index writer does: a thread waits while a shard that it brought has no place yet and
/// too many are in memory.
class NarrowWriter {
 public:
  void put(std::uint32_t shard) {
    std::unique_lock lock(mutex_);
    there_[shard] = true;
    ++waiting_;
    for (; next_ < there_.size() && there_[next_]; ++next_) --waiting_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return shard < next_ || waiting_ <= kMost; });
  }
  [[nodiscard]] std::uint32_t written() const { return next_; }

  static constexpr std::uint32_t kShards = 240;

 private:
  static constexpr std::uint32_t kMost = 2;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> there_ = std::vector<bool>(kShards);
  std::uint32_t next_ = 0, waiting_ = 0;
};

/// GPUs have room for two chunks each, and the last ones are first.
void run_all(std::uint32_t gpus, unsigned threads) {
  constexpr std::uint32_t kOfChunk = 5;
  ShardQueue queue(gpus);
  NarrowWriter writer;
  const auto make = [&](unsigned thread) {
    for (std::uint32_t gpu = thread; gpu < gpus; gpu += threads) {
      const std::uint32_t end = (gpu + 1) * NarrowWriter::kShards / gpus;
      const std::uint32_t begin = gpu * NarrowWriter::kShards / gpus;
      std::this_thread::sleep_for(std::chrono::milliseconds(gpus - gpu));
      for (std::uint32_t first = begin; first < end; first += kOfChunk) {
        if (first >= begin + 2 * kOfChunk) queue.wait_for(first - 2 * kOfChunk);
        queue.put(chunk_of(first, kOfChunk), gpu);
      }
      queue.close(gpu);
    }
  };
  const auto deliver = [&](unsigned thread) {
    while (auto item = queue.take(thread == 0)) {
      std::vector<ShardQueue::QueuedShard> under_way{*std::move(item)};
      for (; !under_way.empty(); under_way.erase(under_way.begin())) {
        if (auto next = queue.try_take_after(under_way.back().shard(), thread == 0))
          under_way.push_back(*std::move(next));
        queue.fetched(under_way.front());
        writer.put(under_way.front().shard());
      }
    }
  };
  run_team(
      2 * threads, [&](unsigned thread) { thread < threads ? deliver(thread) : make(thread - threads); },
      [] {});
  CHECK(writer.written() == NarrowWriter::kShards);
}

TEST_CASE("a writer with little memory is never waited for by all threads") {
  for (const std::uint32_t gpus : {1u, 2u, 3u, 8u}) {
    for (const unsigned threads : {1u, 2u, 3u, 16u}) {
      CAPTURE(gpus);
      CAPTURE(threads);
      run_all(gpus, threads);
    }
  }
}

}  // namespace
