// Who may change a live table, and who sees it at one moment.

#include "backend/live/gate.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

using namespace warpmer::backend;
using namespace std::chrono_literals;

TEST_CASE("stops that follow one another without end keep nobody away for ever") {
  Gate gate;
  std::atomic<bool> is_over = false;
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  const auto is_late = [&] { return std::chrono::steady_clock::now() > deadline; };
  std::vector<std::thread> looking;
  looking.reserve(4);
  for (int i = 0; i < 4; ++i) {
    looking.emplace_back([&] {
      while (!is_over && !is_late()) {
        const Gate::Stop view(gate);
        std::this_thread::sleep_for(2ms);
      }
    });
  }
  for (int i = 0; i < 20; ++i) const Gate::Pass change(gate);
  CHECK_FALSE(is_late());
  is_over = true;
  for (std::thread& thread : looking) thread.join();
}

TEST_CASE("passes that queue without end keep no stop away for ever") {
  Gate gate;
  std::atomic<bool> is_over = false;
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  const auto is_late = [&] { return std::chrono::steady_clock::now() > deadline; };
  std::vector<std::thread> changing;
  changing.reserve(4);
  for (int i = 0; i < 4; ++i) {
    changing.emplace_back([&, i] {
      while (!is_over && !is_late()) {
        const Gate::Pass change(gate, i > 0);
        std::this_thread::sleep_for(2ms);
      }
    });
  }
  for (int i = 0; i < 20; ++i) const Gate::Stop view(gate, i % 2 == 0);
  CHECK_FALSE(is_late());
  is_over = true;
  for (std::thread& thread : changing) thread.join();
}

TEST_CASE("beside a stop that is alone others begin, whoever waits to pass") {
  Gate gate;
  std::atomic<bool> has_passed = false;
  auto first = std::make_unique<Gate::Stop>(gate, true);
  std::thread changing([&] {
    const Gate::Pass change(gate);
    has_passed = true;
  });
  std::this_thread::sleep_for(20ms);
  { const Gate::Stop second(gate); }
  CHECK_FALSE(has_passed);
  first.reset();
  changing.join();
}

TEST_CASE("one that passes alone waits for the others, and they for it") {
  Gate gate;
  unsigned beside = 0;  // changed by one alone only, which ThreadSanitizer sees
  std::vector<std::thread> threads;
  std::atomic<unsigned> passed = 0, stopped = 0;
  for (unsigned thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (unsigned i = 0; i < 200; ++i) {
        if (i % 4 == thread) {
          const Gate::Pass change(gate, true);
          const unsigned others = passed;
          ++beside;
          std::this_thread::yield();
          CHECK(passed == others);
          CHECK(stopped == 0);
          CHECK(change.was_alone());
        } else if (i % 50 == 10) {
          const Gate::Stop view(gate, thread == 0);
          ++stopped;
          std::this_thread::yield();
          --stopped;
        } else {
          const Gate::Pass change(gate);
          ++passed;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(beside == 200);
}

TEST_CASE("a pass knows whether others were beside it") {
  Gate gate;
  auto first = std::make_unique<Gate::Pass>(gate);
  CHECK(first->was_alone());
  auto second = std::make_unique<Gate::Pass>(gate);
  CHECK_FALSE(first->was_alone());
  CHECK_FALSE(second->was_alone());
  first.reset();
  CHECK_FALSE(second->was_alone());
  second.reset();
  first = std::make_unique<Gate::Pass>(gate);
  CHECK(first->was_alone());
  { const Gate::Pass third(gate); }
  CHECK_FALSE(first->was_alone());
}
