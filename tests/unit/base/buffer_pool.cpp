#include "base/buffer_pool.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "base/thread_team.h"

using namespace warpmer;

TEST_CASE("a buffer that was returned is taken again, with what it holds") {
  BufferPool<std::vector<int>> pool;
  pool.take()->assign(100, 7);
  const auto again = pool.take();
  CHECK(*again == std::vector<int>(100, 7));
  const auto other = pool.take();
  CHECK(other->empty());
}

TEST_CASE("which of the idle buffers is taken") {
  using Pool = BufferPool<int>;
  for (const auto order : {Pool::Order::last_returned, Pool::Order::first_returned}) {
    std::vector<std::unique_ptr<int>> buffers;
    buffers.reserve(3);
    for (int i = 0; i < 3; ++i) buffers.push_back(std::make_unique<int>(i));
    Pool pool(std::move(buffers), order);
    auto a = pool.take(), b = pool.take(), c = pool.take();
    const int returned_first = *b;
    b.reset();
    a.reset();
    const int returned_last = *c;
    c.reset();
    CHECK(*pool.take() == (order == Pool::Order::first_returned ? returned_first : returned_last));
  }
}

TEST_CASE("no more idle buffers are kept than it is told, and others may be made then") {
  const auto token = std::make_shared<int>(0);
  using Pool = BufferPool<std::shared_ptr<int>>;
  Pool pool([&] { return std::make_unique<std::shared_ptr<int>>(token); }, 3, Pool::Order::last_returned, 1);
  for (int i = 0; i < 2; ++i) {
    {
      const auto a = pool.take(), b = pool.take(), c = pool.take();
      CHECK(token.use_count() == 4);
    }
    CHECK(token.use_count() == 2);
  }
}

TEST_CASE("no more buffers are made than there may be, and a thread waits for one") {
  constexpr std::size_t kMost = 2;
  std::atomic<int> made{0};
  BufferPool<int> pool(
      [&] {
        ++made;
        return std::make_unique<int>(0);
      },
      kMost);
  std::atomic<int> taken{0}, most_taken{0};
  run_team(
      4,
      [&](unsigned) {
        for (int i = 0; i < 200; ++i) {
          const auto lease = pool.take();
          const int now = ++taken;
          for (int most = most_taken; most < now && !most_taken.compare_exchange_weak(most, now);) continue;
          std::this_thread::yield();
          --taken;
        }
      },
      [] {});
  CHECK(made <= static_cast<int>(kMost));
  CHECK(most_taken <= static_cast<int>(kMost));
}

TEST_CASE("a thread that waits goes on when a buffer returns, is discarded, or cannot be made") {
  bool fails = false;
  BufferPool<int> pool(
      [&] {
        if (fails) throw std::runtime_error("no memory");
        return std::make_unique<int>(0);
      },
      1);
  auto lease = pool.take();
  std::atomic<bool> is_taken{false};
  std::thread waiting([&] {
    const auto mine = pool.take();
    is_taken = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(!is_taken);
  pool.discard(std::move(lease));
  waiting.join();
  CHECK(is_taken);

  pool.discard(pool.take());
  fails = true;
  CHECK_THROWS_WITH((void)pool.take(), "no memory");
  CHECK_THROWS_WITH((void)pool.take(), "no memory");  // the place of the one that failed is free
  fails = false;
  CHECK(pool.take() != nullptr);
}
