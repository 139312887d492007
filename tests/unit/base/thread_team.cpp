#include "base/thread_team.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <vector>

using namespace warpmer;

TEST_CASE("what a team makes is in order, whoever made it, and each is made once") {
  for (const unsigned threads : {0u, 1u, 3u, 16u}) {
    CAPTURE(threads);
    std::atomic<unsigned> calls{0};
    const std::vector<std::size_t> made = make_all(threads, 10, [&](std::size_t i) {
      ++calls;
      return i * i;
    });
    CHECK(calls == 10);
    REQUIRE(made.size() == 10);
    for (std::size_t i = 0; i < made.size(); ++i) CHECK(made[i] == i * i);
    CHECK(make_all(threads, 0, [](std::size_t i) { return i; }).empty());
  }
}

TEST_CASE("what a thread of a team throws comes out, and no more is begun") {
  std::atomic<unsigned> calls{0};
  const auto make = [&](std::size_t i) {
    ++calls;
    if (i == 3) throw std::runtime_error("three");
    return i;
  };
  CHECK_THROWS_WITH_AS(make_all(1, 1000, make), "three", std::runtime_error);
  CHECK(calls == 4);
  CHECK_THROWS_WITH_AS(make_all(4, 1000, make), "three", std::runtime_error);
}
