// Tests questions to partitions that take turns: each question is asked of each partition once, while it is
// there, in whatever order they come; a failure ends all waits. Also tests the division of an index for that.

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "backend/lookup/paged_lookup_plan.h"
#include "backend/lookup/shard_rotation.h"
#include "base/error.h"

namespace {

using namespace warpmer;
using namespace warpmer::backend;

/// Frames with numbers of children in them. Notes what is wrong, on the rotation's thread.
struct FakeDevice {
  struct Question {
    std::vector<int> asked;
    bool is_finished = false;
  };
  explicit FakeDevice(std::uint32_t frames) : in_frame(frames, UINT32_MAX) {}

  void begin() { began = true; }
  void load(std::uint32_t child, std::uint32_t frame) {
    for (const std::uint32_t other : in_frame) wrong += other == child ? 1 : 0;  // it is there already
    in_frame[frame] = child;
    if (++loads == fails_at) throw std::runtime_error("no more");
    if (at_load) at_load();
  }
  void ask(std::uint32_t child, std::uint32_t frame, const std::vector<Question*>& asked) {
    wrong += in_frame[frame] == child && !asked.empty() ? 0 : 1;
    for (Question* const question : asked) {
      wrong += question->is_finished ? 1 : 0;
      ++question->asked[child];
      ++questions;
    }
  }
  void finish(Question& question) {
    for (const int times : question.asked) wrong += times == 1 ? 0 : 1;
    question.is_finished = true;
  }

  std::vector<std::uint32_t> in_frame;
  bool began = false;
  int wrong = 0, loads = 0, questions = 0, fails_at = -1;
  std::function<void()> at_load;
};

TEST_CASE("one question after another: as many loads as must be") {
  for (const std::uint32_t frames : {1u, 2u, 3u, 7u, 9u}) {
    CAPTURE(frames);
    FakeDevice device(frames);
    table::PagingCounts counts;
    {
      ShardRotation<FakeDevice> rotation(device, frames, std::vector<std::uint64_t>(7, 10));
      for (int i = 0; i < 5; ++i) {
        FakeDevice::Question question{std::vector<int>(7), false};
        rotation.ask(question, 3);
        CHECK(question.is_finished);
        // The work for this question is counted, not just that for the one before.
        CHECK(rotation.counts().fetches == static_cast<std::uint64_t>(device.loads));
        CHECK(rotation.counts().fetched_bytes == 10 * rotation.counts().fetches);
      }
    }
    CHECK(device.began);
    CHECK(device.wrong == 0);
    CHECK(device.questions == 5 * 7);
    CHECK(device.loads == 7 + 4 * static_cast<int>(frames >= 7 ? 0 : 7 - frames));
  }
}

TEST_CASE("many callers at once") {
  FakeDevice device(3);
  std::atomic<int> unfinished{0};
  {
    ShardRotation<FakeDevice> rotation(device, 3, std::vector<std::uint64_t>(11, 10));
    std::vector<std::thread> callers;
    for (unsigned caller = 0; caller < 6; ++caller) {
      callers.emplace_back([&, caller] {
        std::mt19937 random(caller);
        for (int i = 0; i < 40; ++i) {
          FakeDevice::Question question{std::vector<int>(11), false};
          rotation.ask(question, 1 + random() % 100);
          if (!question.is_finished) ++unfinished;
          if (random() % 4 == 0) std::this_thread::yield();
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
    CHECK(rotation.counts().fetches == static_cast<std::uint64_t>(device.loads));
  }
  CHECK(device.wrong == 0);
  CHECK(unfinished == 0);
  CHECK(device.questions == 6 * 40 * 11);
  CHECK(device.loads < 6 * 40 * 11);
}

TEST_CASE("a failure ends all that waits and all that comes") {
  FakeDevice device(2);
  device.fails_at = 20;
  std::atomic<int> failed{0};
  {
    ShardRotation<FakeDevice> rotation(device, 2, std::vector<std::uint64_t>(5, 10));
    std::vector<std::thread> callers;
    for (unsigned caller = 0; caller < 4; ++caller) {
      callers.emplace_back([&] {
        for (int i = 0; i < 50; ++i) {
          FakeDevice::Question question{std::vector<int>(5), false};
          try {
            rotation.ask(question, 1);
          } catch (const std::runtime_error&) {
            ++failed;
            return;
          }
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
  }
  CHECK(failed == 4);
  CHECK(device.loads == 20);
}

TEST_CASE("what is cancelled ends all that waits and all that comes, without another round") {
  FakeDevice device(2);
  ShardRotation<FakeDevice> rotation(device, 2, std::vector<std::uint64_t>(1000, 10));
  device.at_load = [&] {
    if (device.loads == 20) rotation.cancel();
  };
  std::atomic<int> cancelled{0};
  std::vector<std::thread> callers;
  for (unsigned caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int i = 0; i < 2; ++i) {
        FakeDevice::Question question{std::vector<int>(1000), false};
        try {
          rotation.ask(question, 1);
        } catch (const InternalError&) {
          ++cancelled;
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(cancelled == 8);
  CHECK(device.loads == 20);
}

TEST_CASE("a text that waits has a batch of FASTQ, and more only when no more texts may wait") {
  const PagedLookupCosts costs{2048, 11000, 100000, 5000, 20000};
  const std::vector<std::uint64_t> shards(4096, 1000);
  const auto plan = [&](std::uint64_t memory) { return plan_paged_lookup(shards, memory, costs, 64); };
  CHECK(plan(100'000'000).slice_starts < 1u << 20);
  CHECK(plan(100'000'000).slices == 16);
  CHECK(plan(400'000'000).slice_starts == 1u << 21);
  CHECK(plan(400'000'000).slices == 17);
  CHECK(plan(1'400'000'000).slice_starts == 1u << 21);
  CHECK(plan(1'400'000'000).slices == 61);
  CHECK(plan(4'000'000'000).slice_starts == 1u << 22);
  CHECK(plan(4'000'000'000).slices == 64);
}

TEST_CASE("a plan uses the memory there is, and no more") {
  const PagedLookupCosts costs{2048, 11000, 100000, 5000, 20000};
  std::mt19937 random(3);
  std::vector<std::uint64_t> shards(4096);
  for (std::uint64_t& words : shards) words = 900 + random() % 300;
  const std::uint64_t all = std::accumulate(shards.begin(), shards.end(), std::uint64_t{0});
  const std::uint64_t least = least_paged_memory(shards, costs);
  CHECK(plan_paged_lookup(shards, least - 1, costs, 8).frame_words == 0);
  CHECK(plan_paged_lookup(shards, least - 1, costs, 8).children() == 0);
  for (const std::uint64_t memory : {least, least + 100000, all, 2 * all, 8 * all}) {
    CAPTURE(memory);
    const PagedLookupPlan plan = plan_paged_lookup(shards, memory, costs, 8);
    REQUIRE(plan.frame_words > 0);
    CHECK(plan.slices >= 1);
    CHECK(plan.slices <= 8);
    CHECK(plan.slice_starts % costs.tile_starts == 0);
    const std::uint64_t used =
        costs.bytes + kPagedFrames * (costs.bytes_per_frame + 8 * plan.frame_words) +
        plan.slices * (costs.bytes_per_slice + plan.slice_starts / costs.tile_starts * costs.bytes_per_tile);
    CHECK(used <= memory);
    CHECK(used + 8 * kPagedFrames > memory);
    CHECK(plan.first_shard.front() == 0);
    CHECK(plan.first_shard.back() == shards.size());
    for (std::uint32_t child = 0; child < plan.children(); ++child) {
      std::uint64_t words = 0;
      for (std::uint32_t s = plan.first_shard[child]; s < plan.first_shard[child + 1]; ++s)
        words += shards[s];
      CHECK(words > 0);
      CHECK(words <= plan.frame_words);
    }
  }
}

}  // namespace
