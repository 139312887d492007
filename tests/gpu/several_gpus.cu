// Several GPUs together make what one makes, and the CPU. Where there is one, it stands for several.

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/error.h"
#include "engine/lookup.h"
#include "frozen_shards.cuh"
#include "gpu/device.h"
#include "gpu/random_text.h"
#include "lookups/lookup_fixture.h"
#include "peers.cuh"
#include "sessions/session_suite.h"

namespace {

using namespace warpmer;
using namespace warpmer::tests;

/// The GPU under test two and three times, and all that there are.
std::vector<std::vector<int>> sets_of_gpus() {
  const int gpu = gpu_under_test().ordinal;
  std::vector<std::vector<int>> sets = {{gpu, gpu}, {gpu, gpu, gpu}};
  const std::vector<int> all = all_gpus();
  if (all.size() > 1) sets.push_back(all);
  return sets;
}

engine::CountPlan roomy_plan_for(std::uint32_t k) {
  engine::CountPlan plan = plan_for(k);
  plan.memory_bytes = std::uint64_t{4} << 30;
  return plan;
}

void check_same_bytes(const Result& a, const Result& b) {
  CHECK((a.payloads == b.payloads));
  CHECK((a.histogram == b.histogram));
  CHECK(a.totals.counted_kmers == b.totals.counted_kmers);
  CHECK(a.totals.counted_distinct == b.totals.counted_distinct);
  CHECK(a.totals.stored_kmers == b.totals.stored_kmers);
}

TEST_CASE("several GPUs count what one CPU counts, with any threads") {
  const auto batches = batches_of(simulated_reads(20000, 30000, 31), 300);
  for (const std::vector<int>& gpus : sets_of_gpus()) {
    CAPTURE(gpus.size());
    const auto backend = engine::make_cuda_backend(gpus);
    for (const std::uint32_t k : {1u, 5u, 12u, 13u, 15u, 31u, 32u, 33u, 48u, 49u, 64u}) {
      if (!can_count(k)) continue;
      CAPTURE(k);
      engine::CountPlan plan = roomy_plan_for(k);
      const Result expected = run(*engine::make_cpu_backend(), plan, batches, Take::payloads);
      plan.devices = static_cast<unsigned>(gpus.size());
      for (const unsigned threads : {1u, 2u, 7u}) {
        CAPTURE(threads);
        plan.threads = threads;
        const Result got = run(*backend, plan, batches, Take::payloads);
        check_same_bytes(got, expected);
        CHECK((k <= 12 || got.exchanged_bytes > 0));
      }
    }
  }
}

TEST_CASE("several GPUs and next to nothing to count") {
  for (const std::vector<int>& gpus : sets_of_gpus()) {
    const auto backend = engine::make_cuda_backend(gpus);
    for (const std::uint32_t k : {5u, 31u}) next_to_nothing(*backend, k);
  }
}

TEST_CASE("several GPUs and hot k-mers: all of them belong to one") {
  std::vector<std::string> reads = random_reads(2000, 20000, 11);
  for (int i = 0; i < 20; ++i) reads.emplace_back(500000, "AT"[i % 2]);
  const auto batches = batches_of(reads, 100);
  for (const std::uint32_t k : {13u, 31u}) {
    engine::CountPlan plan = roomy_plan_for(k);
    const Result expected = run(*engine::make_cpu_backend(), plan, batches, Take::payloads);
    plan.threads = 3;
    for (const std::vector<int>& gpus : sets_of_gpus())
      check_same_bytes(run(*engine::make_cuda_backend(gpus), plan, batches, Take::payloads), expected);
  }
}

TEST_CASE("several GPUs with little memory count early, and the result is the same") {
  constexpr std::size_t kRounds = 6;
  const auto batches = batches_of(simulated_reads(250000, 50000, 3, 2000), 2000);
  engine::CountPlan plan = roomy_plan_for(31);
  plan.threads = 2;
  const Result expected = run(*engine::make_cpu_backend(), plan, batches, Take::payloads, kRounds);
  std::uint64_t early = 0;
  for (const std::vector<int>& gpus : sets_of_gpus()) {
    const auto backend = engine::make_cuda_backend(gpus);
    for (const std::uint64_t megabytes : {220, 300, 400, 600, 800, 1000}) {
      CAPTURE(megabytes);
      plan.device_memory_bytes = megabytes << 20;
      try {
        const Result tight = run(*backend, plan, batches, Take::payloads, kRounds);
        early += tight.early_counts;
        check_same_bytes(tight, expected);
      } catch (const ResourceError& error) {
        CHECK(std::string(error.what()).find("--device-memory") != std::string::npos);
      }
    }
  }
  CHECK(early > 0);
}

TEST_CASE("several GPUs each spill what they have no room for") {
  const auto batches = batches_of(simulated_reads(1200000, 90000000, 4), 2000);
  engine::CountPlan plan = roomy_plan_for(31);
  const Result expected = run(*engine::make_cpu_backend(), plan, batches, Take::payloads);
  plan.threads = 4;
  std::uint64_t host_bytes = 0;
  for (const std::vector<int>& gpus : sets_of_gpus()) {
    CAPTURE(gpus.size());
    const auto backend = engine::make_cuda_backend(gpus);
    const auto sharers = static_cast<std::uint64_t>(std::count(gpus.begin(), gpus.end(), gpus.front()));
    for (const std::uint64_t megabytes : {180, 240}) {
      CAPTURE(megabytes);
      plan.device_memory_bytes = (megabytes << 20) * sharers;  // for all that share the GPU
      const Result tight = run(*backend, plan, batches, Take::payloads);
      check_same_bytes(tight, expected);
      host_bytes += tight.spilled.host_bytes;
    }
  }
  CHECK(host_bytes > 0);
}

TEST_CASE("an error of the sink ends a session of several GPUs") {
  for (const std::vector<int>& gpus : sets_of_gpus()) {
    const auto backend = engine::make_cuda_backend(gpus);
    for (const unsigned threads : {1u, 2u, 5u}) end_with_the_sink(*backend, 31, threads, 100);
  }
}

TEST_CASE("several GPUs answer as the CPU does, each with all of the index or with a part") {
  const TemporaryIndex file;
  write_index(file.path(), random_reads(12000, 3000000, 21, 1000), 31);
  const index::IndexFile index(file.path());
  const auto cpu = engine::make_cpu_lookup(index, false);
  const Reads known = random_reads(3000, 3000000, 21, 1000);
  for (const std::vector<int>& gpus : sets_of_gpus()) {
    const auto owners = static_cast<std::uint32_t>(gpus.size());
    CAPTURE(owners);
    // Too little for the whole, enough for a part and a lane.
    const std::uint64_t part = gpu::frozen_shards_bytes(index, owners) + (std::uint64_t{10} << 20);
    REQUIRE(part < gpu::frozen_shards_bytes(index));
    for (const std::uint64_t cap : {std::uint64_t{0}, part}) {
      const auto lookup = engine::make_cuda_lookup(index, false, gpus, cap);
      for (int round = 0; round < 4; ++round) {
        const Seen seen = tests::check_same(*cpu, *lookup, known);
        CHECK(seen.found == seen.kmers);
        tests::check_same(*cpu, *lookup, random_reads(300, 20000, 22 + static_cast<unsigned>(round)));
      }
    }
  }
}

TEST_CASE("copies between GPUs arrive, directly and through the host") {
  for (const std::vector<int>& gpus : sets_of_gpus()) {
    for (const bool through_host : {false, true}) {
      gpu::Peers peers(gpus, through_host);
      CHECK((!through_host || !peers.all_reach()));
      for (const std::size_t bytes :
           {std::size_t{0}, std::size_t{1}, std::size_t{4097}, std::size_t{20} << 20}) {
        std::string sent(bytes, ' '), received(bytes, '?');
        std::mt19937 random(static_cast<unsigned>(bytes));
        for (char& c : sent) c = static_cast<char>(random());
        const gpu::CurrentDevice current(peers.gpu(0));
        const gpu::Stream stream;
        const gpu::DeviceArray<char> from(bytes + 1);
        gpu::copy_to_device(from.data(), sent.data(), bytes, stream);
        const std::uint32_t last = peers.size() - 1;
        gpu::DeviceArray<char> to;
        {
          const gpu::CurrentDevice there(peers.gpu(last));
          to.reserve(bytes + 1);
        }
        peers.copy(to.data(), last, from.data(), 0, bytes, stream);
        stream.wait();
        const gpu::CurrentDevice there(peers.gpu(last));
        const gpu::Stream back;
        gpu::copy_to_host(received.data(), to.data(), bytes, back);
        back.wait();
        CHECK((received == sent));
        to.reset();
      }
    }
  }
}

}  // namespace
