// Many threads share a lock, or one has it alone and does not wait for ever.

#include "base/shared_mutex.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace {

using namespace warpmer;
using namespace std::chrono_literals;

TEST_CASE("many threads share it at once") {
  SharedMutex mutex;
  mutex.lock_shared();
  std::thread([&] {
    mutex.lock_shared();  // would never return if only one could
    mutex.unlock_shared();
  }).join();
  mutex.unlock_shared();
}

TEST_CASE("a thread that has it alone is alone, and sees what was done before") {
  constexpr int kTimes = 2000;
  SharedMutex mutex;
  std::atomic<int> inside{0};
  std::atomic<bool> is_over{false};
  int alone = 0;  // no atomic: the mutex guards it, and sanitizers watch
  std::vector<std::thread> threads;
  threads.reserve(3);
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!is_over) {
        mutex.lock_shared();
        ++inside;
        CHECK(alone >= 0);
        --inside;
        mutex.unlock_shared();
      }
    });
  }
  std::vector<std::thread> closers;
  closers.reserve(2);
  for (int i = 0; i < 2; ++i) {
    closers.emplace_back([&] {
      for (int time = 0; time < kTimes; ++time) {
        mutex.lock();
        const int others = inside;
        ++alone;
        mutex.unlock();
        if (others != 0) CHECK(others == 0);
      }
    });
  }
  for (auto& closer : closers) closer.join();
  is_over = true;
  for (auto& thread : threads) thread.join();
  CHECK(alone == 2 * kTimes);
}

TEST_CASE(
    "a thread that wants it alone waits for those that share it, and is not kept waiting by those that "
    "come") {
  SharedMutex mutex;
  std::atomic<bool> is_had{false}, is_over{false};
  mutex.lock_shared();
  std::thread closer([&] {
    mutex.lock();
    is_had = true;
    mutex.unlock();
  });
  // Visitors whose visits overlap: without a break, one of them shares it.
  std::atomic<int> visits{0};
  std::vector<std::thread> visitors;
  visitors.reserve(2);
  for (int i = 0; i < 2; ++i) {
    visitors.emplace_back([&] {
      while (!is_over) {
        mutex.lock_shared();
        ++visits;
        std::this_thread::sleep_for(1ms);
        mutex.unlock_shared();
      }
    });
  }
  std::this_thread::sleep_for(20ms);
  CHECK(!is_had);  // this thread shares it
  mutex.unlock_shared();
  closer.join();  // would take for ever if visitors could keep it
  CHECK(is_had);
  const int before = visits;
  while (visits == before) std::this_thread::yield();  // they may share it again
  is_over = true;
  for (auto& visitor : visitors) visitor.join();
}

}  // namespace
