// Tests that each task of many threads with one object is done once, by one thread at a time.

#include "base/flat_combining.h"

#include <doctest/doctest.h>

#include <stdexcept>
#include <thread>
#include <vector>

using namespace warpmer;

namespace {

/// Notices when two threads have it.
class Exclusive {
 public:
  void use() {
    clashes += users++ > 0 ? 1 : 0;
    std::this_thread::yield();
    --users;
    ++uses;
  }

  std::atomic<unsigned> users{0}, clashes{0};
  unsigned uses = 0;
};

using Shared = FlatCombining<Exclusive>;

struct Use : Shared::Task {
  unsigned times = 0;
  bool fails = false;

 private:
  void run(Exclusive& it) override {
    it.use();
    ++times;
    if (fails) throw std::runtime_error("as it was told");
  }
};

}  // namespace

TEST_CASE("flat combining: all that is left for others is done, once, and errors come to their owners") {
  Exclusive it;
  Shared shared(it);
  constexpr unsigned kThreads = 8, kTasks = 3000;
  std::atomic<unsigned> wrong_times{0}, wrong_errors{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Use task;
      for (unsigned i = 0; i < kTasks; ++i) {
        task.fails = (i + t) % 7 == 0;
        shared.add(task);
        if (i % 5 == 0) std::this_thread::yield();
        bool has_failed = false;
        try {
          shared.wait_for(task);
        } catch (const std::runtime_error&) {
          has_failed = true;
        }
        wrong_errors += has_failed != task.fails ? 1 : 0;
        wrong_times += task.times != i + 1 ? 1 : 0;
        if (i % 11 == 0) shared.alone([&] { shared.resource().use(); });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong_times == 0);
  CHECK(wrong_errors == 0);
  CHECK(it.clashes == 0);
  CHECK(it.uses == kThreads * (kTasks + (kTasks + 10) / 11));
}
