// How a session on a CPU divides its memory.

#include "cpu/memory/memory_model.h"

#include "sessions/session_suite.h"

using namespace warpmer;
using namespace warpmer::tests;

TEST_CASE("more is counted into a run that is small, beside what comes and beside a thread's memory") {
  backend::CountPlan plan = plan_for(31);
  plan.memory_bytes = std::uint64_t{400} << 20;
  const cpu::CountingCosts costs{.pages = 30, .per_byte = 60, .merged_per_byte = 4, .per_entry = 32};
  const cpu::MemoryModel memory(plan, {.thread_bytes = 1 << 20,
                                       .shards = 4096,
                                       .shard_bytes = 256,
                                       .costs = costs,
                                       .words = {.bytes = 16, .mean_kmers = 9, .mean_bytes = 10}});
  CHECK(memory.can_grow_early(0, 1));
  CHECK(memory.can_grow_early(1000, 2000));
  CHECK_FALSE(memory.can_grow_early(1000, 1999));
  const std::uint64_t room = (memory.total() - memory.budget()) / plan.threads;  // that a thread has for it
  CHECK(memory.can_grow_early(room / 2 / costs.per_entry, room));
  CHECK_FALSE(memory.can_grow_early(room / 2 / costs.per_entry + 1, room));
}
