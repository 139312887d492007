// Threads that share a counter: what each has is enqueued once, by one thread at a time.

#include <doctest/doctest.h>

#include <atomic>
#include <deque>
#include <stdexcept>
#include <thread>
#include <vector>

#include "shared_counter.cuh"

using namespace warpmer;
using namespace warpmer::gpu;

namespace {

/// Notices when two threads have it.
class Exclusive : public TextCounter {
 public:
  [[nodiscard]] cudaStream_t stream() const override { return nullptr; }
  void add(const char*, std::uint32_t, const std::uint32_t*, std::uint32_t, std::uint32_t*,
           CutStatus*) override {
    use();
  }
  void make_room() override {
    use();
    ++rooms;
  }
  [[nodiscard]] bool wants_room(std::uint32_t) const override { return false; }

  std::atomic<unsigned> users{0}, clashes{0};
  unsigned rooms = 0;

 private:
  void use() {
    clashes += users++ > 0 ? 1 : 0;
    std::this_thread::yield();
    --users;
  }
};

struct Text : SharedCounter::Task {
  unsigned times = 0;
  bool fails = false;

 private:
  void enqueue(TextCounter& counter) override {
    counter.add(nullptr, 0, nullptr, 0, nullptr, nullptr);
    ++times;
    if (fails) throw std::runtime_error("as it was told");
  }
};

}  // namespace

TEST_CASE("shared counter: all that is left for others is enqueued, once, and errors come to their owners") {
  Exclusive counter;
  SharedCounter shared(counter);
  constexpr unsigned kThreads = 8, kTexts = 3000;
  std::atomic<unsigned> wrong_times{0}, wrong_errors{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Text text;
      for (unsigned i = 0; i < kTexts; ++i) {
        text.fails = (i + t) % 7 == 0;
        shared.add(text);
        if (i % 5 == 0) std::this_thread::yield();
        bool has_failed = false;
        try {
          shared.wait_for(text);
        } catch (const std::runtime_error&) {
          has_failed = true;
        }
        wrong_errors += has_failed != text.fails ? 1 : 0;
        wrong_times += text.times != i + 1 ? 1 : 0;
        if (i % 11 == 0) shared.alone([&] { counter.make_room(); });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong_times == 0);
  CHECK(wrong_errors == 0);
  CHECK(counter.clashes == 0);
  CHECK(counter.rooms == kThreads * ((kTexts + 10) / 11));
}

TEST_CASE("shared counter: room is made once for all who found none at the same time") {
  Exclusive counter;
  SharedCounter shared(counter);
  const std::uint64_t before = shared.rooms_made();
  for (int i = 0; i < 3; ++i) shared.alone([&] { shared.make_room(before); });
  CHECK(counter.rooms == 1);
  const std::uint64_t later = shared.rooms_made();
  shared.alone([&] { shared.make_room(later); });
  CHECK(counter.rooms == 2);
}
