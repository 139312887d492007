// Tests that work which is to take a part of the time takes no more.

#include "base/part_of_time.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

using namespace warpmer;
using namespace std::chrono_literals;

TEST_CASE("work takes its part of the time, whoever asks for it and how often") {
  constexpr auto kLong = 20ms;
  const auto begin = std::chrono::steady_clock::now();
  PartOfTime work(4);
  std::atomic<unsigned> done = 0, beside = 0, clashes = 0;
  std::vector<std::thread> threads(3);
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      while (done < 5) {
        const bool was_done = work.try_to_do([&] {
          clashes += beside++ > 0 ? 1 : 0;
          std::this_thread::sleep_for(kLong);
          --beside;
        });
        if (was_done) ++done;
        std::this_thread::yield();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(clashes == 0);
  CHECK(std::chrono::steady_clock::now() - begin >= (4 * 4 + 1) * kLong);
}

TEST_CASE("work is done at once when it has not been done for long enough") {
  PartOfTime work(2);
  unsigned done = 0;
  const auto begin = std::chrono::steady_clock::now();
  CHECK(work.try_to_do([&] { ++done; }));
  const auto end = std::chrono::steady_clock::now();
  std::this_thread::sleep_until(end + (end - begin));
  CHECK(work.try_to_do([&] { ++done; }));
  CHECK(done == 2);
}
