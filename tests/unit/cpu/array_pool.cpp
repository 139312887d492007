// Arrays that come back to their pool, and outlive it.

#include "cpu/sets/array_pool.h"

#include <doctest/doctest.h>

#include <memory>
#include <set>
#include <thread>
#include <vector>

using warpmer::cpu::ArrayPool;

TEST_CASE("an array's memory is used again, for as many numbers alone") {
  const auto pool = std::make_shared<ArrayPool>(2);
  ArrayPool::Array array = pool->take(100);
  const std::uint64_t* const first = array.get();
  array.reset();
  const ArrayPool::Array other = pool->take(101);
  CHECK(other.get() != first);
  const ArrayPool::Array again = pool->take(100);
  CHECK(again.get() == first);
}

TEST_CASE("no more arrays than that are kept, and none that is in use is given out") {
  const auto pool = std::make_shared<ArrayPool>(2);
  std::set<const std::uint64_t*> seen;
  {
    std::vector<ArrayPool::Array> arrays;
    for (int i = 0; i < 5; ++i) {
      arrays.push_back(pool->take(8));
      CHECK(seen.insert(arrays.back().get()).second);
    }
  }
  CHECK(seen.contains(pool->take(8).get()));
}

TEST_CASE("arrays outlive what they were taken from") {
  auto pool = std::make_shared<ArrayPool>(2);
  const ArrayPool::Array array = pool->take(3);
  pool.reset();
  array[2] = 7;
  CHECK(array[2] == 7);
}

TEST_CASE("threads take and give arrays back") {
  const auto pool = std::make_shared<ArrayPool>(3);
  std::vector<std::thread> threads;
  std::vector<char> is_right(4, 1);
  for (std::size_t t = 0; t < is_right.size(); ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < 1000; ++i) {
        const ArrayPool::Array array = pool->take(16);
        array[0] = 1000 * t + i;
        std::this_thread::yield();
        if (array[0] != 1000 * t + i) is_right[t] = 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const char right : is_right) CHECK(right);
}
