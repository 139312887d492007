#include "base/ordered_stage.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/thread_team.h"

using namespace warpmer;

TEST_CASE("results come out in order, whoever is late") {
  constexpr std::uint64_t kResults = 2000;
  std::vector<std::uint64_t> seen;
  OrderedStage<std::uint64_t> ordered(8, [&](std::uint64_t&& value) { seen.push_back(value); });
  std::atomic<std::uint64_t> next{0};
  run_team(
      4,
      [&](unsigned) {
        for (std::uint64_t i = next++; i < kResults; i = next++) {
          if (i % 97 == 0) {
            std::this_thread::sleep_for(std::chrono::microseconds(300));
          }
          ordered.put(i, std::uint64_t{i});
        }
      },
      [&] { ordered.stop(); });
  REQUIRE(seen.size() == kResults);
  CHECK(std::is_sorted(seen.begin(), seen.end()));
}

TEST_CASE("a thread that is a window ahead of the next result blocks until that has been consumed") {
  constexpr std::uint64_t kWindow = 3;
  std::atomic<std::uint64_t> consumed{0};
  OrderedStage<int> ordered(kWindow, [&](int&&) { ++consumed; });
  for (std::uint64_t i = 1; i < kWindow; ++i) CHECK(ordered.put(i, 0));  // these may wait
  std::atomic<bool> is_put{false};
  std::thread ahead([&] {
    ordered.put(kWindow, 0);
    is_put = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(!is_put);
  CHECK(consumed == 0);
  CHECK(ordered.put(0, 0));
  ahead.join();
  CHECK(is_put);
  CHECK(consumed == kWindow + 1);
}

TEST_CASE("with a window of one a result is consumed by the thread that puts it") {
  constexpr int kResults = 200;
  std::atomic<int> consumed{0}, wrong{0};
  OrderedStage<std::thread::id> ordered(1, [&](std::thread::id&& by) {
    ++consumed;
    if (by != std::this_thread::get_id()) ++wrong;
  });
  std::atomic<int> next{0};
  run_team(
      4,
      [&](unsigned) {
        for (int i = next++; i < kResults; i = next++)
          ordered.put(static_cast<std::uint64_t>(i), std::this_thread::get_id());
      },
      [&] { ordered.stop(); });
  CHECK(consumed == kResults);
  CHECK(wrong == 0);
}

TEST_CASE("one failing worker ends all of them and its exception is passed on") {
  OrderedStage<int> ordered(2, [](int&&) {});
  std::atomic<int> next{0};
  std::atomic<bool> stopped{false};
  const auto work = [&](unsigned) {
    for (int i = next++; !stopped && i < 1000000; i = next++) {
      if (i == 5) {
        throw std::runtime_error("five");  // no thread will ever put 5: without `stop` the others would wait
      }
      ordered.put(static_cast<std::uint64_t>(i), int{i});
    }
  };
  CHECK_THROWS_WITH(run_team(4, work,
                             [&] {
                               stopped = true;
                               ordered.stop();
                             }),
                    "five");
}

TEST_CASE("a failure to hand on reaches the caller") {
  OrderedStage<int> ordered(2, [](int&&) { throw std::runtime_error("disk full"); });
  std::atomic<int> next{0};
  std::atomic<bool> stopped{false};
  const auto work = [&](unsigned) {
    for (int i = next++; !stopped && i < 1000; i = next++) {
      ordered.put(static_cast<std::uint64_t>(i), int{i});
    }
  };
  CHECK_THROWS_WITH(run_team(3, work,
                             [&] {
                               stopped = true;
                               ordered.stop();
                             }),
                    "disk full");
}

TEST_CASE("when a result cannot be consumed, the stage stops for all threads") {
  std::atomic<int> consumed{0};
  OrderedStage<int> ordered(2, [&](int&& value) {
    if (value == 3) throw std::runtime_error("disk full");
    ++consumed;
  });
  std::atomic<int> next{0}, stopped{0};
  const auto work = [&](unsigned) {
    for (bool goes_on = true; goes_on;) {
      const int i = next++;
      goes_on = ordered.put(static_cast<std::uint64_t>(i), int{i});
    }
    ++stopped;
  };
  CHECK_THROWS_WITH(run_team(3, work, [] {}), "disk full");  // no thread calls `stop`
  CHECK(stopped == 2);
  CHECK(consumed == 3);
  CHECK_FALSE(ordered.put(0, 0));
  CHECK_FALSE(ordered.put_part(4, 0));
}

TEST_CASE("a result in parts comes out in one place, whoever else is there") {
  constexpr std::uint64_t kResults = 500;
  std::vector<std::uint64_t> seen;
  OrderedStage<std::uint64_t> ordered(4, [&](std::uint64_t&& value) { seen.push_back(value); });
  std::atomic<std::uint64_t> next{0};
  run_team(
      4,
      [&](unsigned) {
        for (std::uint64_t i = next++; i < kResults; i = next++) {
          for (std::uint64_t part = 0; part < i % 4; ++part) ordered.put_part(i, 10 * i + part);
          ordered.put(i, 10 * i + i % 4);
        }
      },
      [&] { ordered.stop(); });
  std::vector<std::uint64_t> wanted;
  for (std::uint64_t i = 0; i < kResults; ++i) {
    for (std::uint64_t part = 0; part <= i % 4; ++part) wanted.push_back(10 * i + part);
  }
  CHECK(seen == wanted);
}

TEST_CASE("a thread that waits for its turn is let go when another has failed") {
  OrderedStage<int> ordered(8, [](int&&) {});
  std::atomic<int> next{0};
  const auto work = [&](unsigned) {
    if (next++ == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      throw std::runtime_error("first");
    }
    ordered.put_part(1, 1);  // its turn will never come
    ordered.put(1, 1);
  };
  CHECK_THROWS_WITH(run_team(2, work, [&] { ordered.stop(); }), "first");
}
