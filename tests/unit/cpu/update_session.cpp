// The update suite on the CPU backend.

#include <filesystem>

#include "sessions/update_suite.h"
#include "tier.h"

using namespace warpmer;
using namespace warpmer::tests;

namespace {
const auto kCpu = [] { return backend::make_cpu_backend(); };
}

TEST_CASE("an updated index is the index of the reads that remain") {
  update_like_count(*kCpu(), by_tier<std::vector<std::uint32_t>>({5, 13, 31, 33, 64}, {5, 31, 33}),
                    {{1, 1}, {3, 1}}, plan_for(31), by_tier(8000, 4000));
}

TEST_CASE("k-mers that cannot be removed are counted") {
  note_shortfalls(*kCpu(), by_tier<std::vector<std::uint32_t>>({5, 12, 31, 64}, {5, 31}), plan_for(31));
}

TEST_CASE("hashes that crowd, and counts of all widths") {
  for (const std::uint32_t k : {31u, 32u})
    update_what_crowds<Key64>(*kCpu(), k, plan_for(k), by_tier(300, 20));
  for (const std::uint32_t k : {47u, 64u})
    update_what_crowds<Key128>(*kCpu(), k, plan_for(k), by_tier(100, 20));
}

TEST_CASE("counts that pass 2^32") { update_beyond_32_bits(*kCpu(), plan_for(31)); }

TEST_CASE("an error of the sink ends an update") { end_update_with_the_sink(*kCpu(), plan_for(31)); }

TEST_CASE("shards for which there is no memory are updated in parts, with the same result") {
  constexpr std::uint64_t kNone = 0;
  backend::CountPlan plan = plan_for(31);
  plan.spill.directory = std::filesystem::temp_directory_path().string();
  update_like_count(*kCpu(), by_tier<std::vector<std::uint32_t>>({31, 64}, {31}), {{3, 1}}, plan, 4000,
                    kNone);
  note_shortfalls(*kCpu(), {31, 64}, plan, kNone);
  update_what_crowds<Key64>(*kCpu(), 31, plan, by_tier(3000, 20), kNone);
}
