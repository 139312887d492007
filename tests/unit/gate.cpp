// A gate lets many in, or one alone, who does not wait for ever.

#include "core/gate.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace {

using namespace warpmer;
using namespace std::chrono_literals;

TEST_CASE("many are inside at once") {
  Gate gate;
  gate.go_in();
  std::thread([&] {
    gate.go_in();  // would never return if only one could
    gate.go_out();
  }).join();
  gate.go_out();
}

TEST_CASE("who has closed the gate is alone, and what was done inside before is seen") {
  constexpr int kTimes = 2000;
  Gate gate;
  std::atomic<int> inside{0};
  std::atomic<bool> is_over{false};
  int alone = 0;  // no atomic: the gate guards it, and sanitizers watch
  std::vector<std::thread> threads;
  threads.reserve(3);
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!is_over) {
        gate.go_in();
        ++inside;
        CHECK(alone >= 0);
        --inside;
        gate.go_out();
      }
    });
  }
  std::vector<std::thread> closers;
  closers.reserve(2);
  for (int i = 0; i < 2; ++i) {
    closers.emplace_back([&] {
      for (int time = 0; time < kTimes; ++time) {
        gate.close();
        const int others = inside;
        ++alone;
        gate.open();
        if (others != 0) CHECK(others == 0);
      }
    });
  }
  for (auto& closer : closers) closer.join();
  is_over = true;
  for (auto& thread : threads) thread.join();
  CHECK(alone == 2 * kTimes);
}

TEST_CASE("who closes the gate waits for those inside, and is not kept waiting by those who come") {
  Gate gate;
  std::atomic<bool> is_closed{false}, is_over{false};
  gate.go_in();
  std::thread closer([&] {
    gate.close();
    is_closed = true;
    gate.open();
  });
  // Visitors whose visits overlap: without a break, somebody is inside.
  std::atomic<int> visits{0};
  std::vector<std::thread> visitors;
  visitors.reserve(2);
  for (int i = 0; i < 2; ++i) {
    visitors.emplace_back([&] {
      while (!is_over) {
        gate.go_in();
        ++visits;
        std::this_thread::sleep_for(1ms);
        gate.go_out();
      }
    });
  }
  std::this_thread::sleep_for(20ms);
  CHECK(!is_closed);  // this thread is inside
  gate.go_out();
  closer.join();  // would take for ever if visitors could keep it open
  CHECK(is_closed);
  const int before = visits;
  while (visits == before) std::this_thread::yield();  // the gate is open again
  is_over = true;
  for (auto& visitor : visitors) visitor.join();
}

}  // namespace
