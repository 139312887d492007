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

namespace {

/// Does `work()` while four threads take one turn after another, by `take_turn(thread)`. Returns whether it
/// was done within 30 s, after which they stop.
template <class TakeTurn, class Work>
bool is_done_beside(TakeTurn&& take_turn, Work&& work) {
  std::atomic<bool> is_over = false;
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  const auto is_late = [&] { return std::chrono::steady_clock::now() > deadline; };
  std::vector<std::thread> others;
  others.reserve(4);
  for (int i = 0; i < 4; ++i) {
    others.emplace_back([&, i] {
      while (!is_over && !is_late()) take_turn(i);
    });
  }
  work();
  const bool is_in_time = !is_late();
  is_over = true;
  for (std::thread& other : others) other.join();
  return is_in_time;
}

}  // namespace

TEST_CASE("stops that follow one another without end keep nobody away for ever") {
  Gate gate;
  const auto look = [&](int) {
    const Gate::Stop view(gate);
    std::this_thread::sleep_for(2ms);
  };
  CHECK(is_done_beside(look, [&] {
    for (int i = 0; i < 20; ++i) const Gate::Pass change(gate);
  }));
}

TEST_CASE("passes that queue without end keep no stop away for ever") {
  Gate gate;
  const auto change = [&](int thread) {
    const Gate::Pass pass(gate, thread > 0);
    std::this_thread::sleep_for(2ms);
  };
  CHECK(is_done_beside(change, [&] {
    for (int i = 0; i < 20; ++i) const Gate::Stop view(gate, i % 2 == 0);
  }));
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
