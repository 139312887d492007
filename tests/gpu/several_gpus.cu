// Several GPUs together make what one makes, and the CPU. Where there is one, it stands for several.

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "gpu/device.h"
#include "gpu/random_reads.h"
#include "kernels/exchange/nccl.cuh"
#include "kernels/exchange/peers.cuh"
#include "sessions/session_suite.h"
#include "unit/mpi/rank_threads.h"

namespace {

using namespace warpmer;
using namespace warpmer::tests;

backend::CountPlan roomy_plan_for(std::uint32_t k) {
  backend::CountPlan plan = plan_for(k);
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
    const auto backend = backend::make_cuda_backend(gpus);
    for (const std::uint32_t k : {1u, 5u, 12u, 13u, 15u, 31u, 32u, 33u, 48u, 49u, 64u}) {
      if (!can_count(k)) continue;
      CAPTURE(k);
      backend::CountPlan plan = roomy_plan_for(k);
      const Result expected = run(*backend::make_cpu_backend(), plan, batches, Take::payloads);
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

/// One for each rank; none where there is one GPU, or no NCCL.
std::vector<int> gpus_for_ranks() {
  std::vector<int> gpus = all_gpus();
  try {
    gpu::NcclLibrary::open();
  } catch (const ResourceError& error) {
    MESSAGE("skipped: ", error.what());
    return {};
  }
  if (gpus.size() < 2) {
    MESSAGE("skipped: one GPU");
    gpus.clear();
  }
  return gpus;
}

/// Ranks as threads, each with a GPU of its own, and its part of the batches; null where they cannot be. What
/// they have counted, and what they have failed with.
struct OfRanks {
  Payloads payloads;
  index::Histogram histogram;
  std::uint64_t early_counts = 0, host_bytes = 0;
  std::vector<std::string> errors;
};
std::optional<OfRanks> on_gpus_of_ranks(const backend::CountPlan& plan, const std::vector<io::Batch>& batches,
                                        std::size_t rounds = 1) {
  const std::vector<int> gpus = gpus_for_ranks();
  if (gpus.empty()) return std::nullopt;
  OfRanks all;
  std::mutex mutex;
  all.errors = test::on_ranks(static_cast<unsigned>(gpus.size()), [&](mpi::ProcessGroup& ranks) {
    std::vector<io::Batch> own;
    for (std::size_t i = 0; i < batches.size(); ++i) {
      // The first one has next to nothing, and waits for the others' segments.
      const std::size_t reader = i < 2 ? 0 : 1 + i % (ranks.size() - 1);
      if (reader == ranks.rank()) copy(batches[i], own.emplace_back());
    }
    backend::CountPlan its = plan;
    its.ranks = &ranks;
    const auto backend = backend::make_cuda_backend({gpus[ranks.rank()]});
    const Result result = run(*backend, its, own, Take::payloads, rounds);
    const std::lock_guard lock(mutex);
    for (const auto& [shard, payload] : result.payloads) CHECK(all.payloads.emplace(shard, payload).second);
    for (const auto& [count, number] : result.histogram) all.histogram[count] += number;
    all.early_counts += result.early_counts;
    all.host_bytes += result.spilled.host_bytes;
  });
  return all;
}

TEST_CASE("ranks with a GPU each count what one CPU counts") {
  const auto batches = batches_of(simulated_reads(20000, 30000, 31), 300);
  for (const std::uint32_t k : {5u, 13u, 31u, 33u, 64u}) {
    CAPTURE(k);
    backend::CountPlan plan = roomy_plan_for(k);
    plan.threads = 3;
    const Result expected = run(*backend::make_cpu_backend(), plan, batches, Take::payloads);
    const auto got = on_gpus_of_ranks(plan, batches);
    if (!got) return;
    CHECK(got->errors == std::vector<std::string>(got->errors.size()));
    CHECK((got->payloads == expected.payloads));
    CHECK((got->histogram == expected.histogram));
  }
}

TEST_CASE("ranks on GPUs that end their sessions before they count have not failed") {
  const std::vector<int> gpus = gpus_for_ranks();
  if (gpus.empty()) return;
  // Enough for the last round to be under way when they do so.
  const auto batches = batches_of(simulated_reads(1200000, 90000000, 6), 4000);
  const auto errors = test::on_ranks(static_cast<unsigned>(gpus.size()), [&](mpi::ProcessGroup& ranks) {
    backend::CountPlan plan = roomy_plan_for(31);
    plan.ranks = &ranks;
    const auto backend = backend::make_cuda_backend({gpus[ranks.rank()]});
    for (int time = 0; time < 5; ++time) {
      const auto session = backend->start(plan);
      io::Batch batch;
      for (const io::Batch& each : batches) {
        copy(each, batch);
        session->add(batch, 0);
      }
      session->end_of_input(0);
    }
    ranks.all_gather(0);
  });
  CHECK(errors == std::vector<std::string>(gpus.size()));
}

TEST_CASE("several GPUs and next to nothing to count") {
  for (const std::vector<int>& gpus : sets_of_gpus()) {
    const auto backend = backend::make_cuda_backend(gpus);
    for (const std::uint32_t k : {5u, 31u}) next_to_nothing(*backend, k);
  }
}

TEST_CASE("several GPUs and hot k-mers: all of them belong to one") {
  std::vector<std::string> reads = random_reads(2000, 20000, 11);
  for (int i = 0; i < 20; ++i) reads.emplace_back(500000, "AT"[i % 2]);
  const auto batches = batches_of(reads, 100);
  for (const std::uint32_t k : {13u, 31u}) {
    backend::CountPlan plan = roomy_plan_for(k);
    const Result expected = run(*backend::make_cpu_backend(), plan, batches, Take::payloads);
    plan.threads = 3;
    for (const std::vector<int>& gpus : sets_of_gpus())
      check_same_bytes(run(*backend::make_cuda_backend(gpus), plan, batches, Take::payloads), expected);
  }
}

TEST_CASE("several GPUs with little memory count early, and the result is the same") {
  constexpr std::size_t kRounds = 6;
  const auto batches = batches_of(simulated_reads(250000, 50000, 3, 2000), 2000);
  backend::CountPlan plan = roomy_plan_for(31);
  plan.threads = 2;
  const Result expected = run(*backend::make_cpu_backend(), plan, batches, Take::payloads, kRounds);
  std::uint64_t early = 0;
  for (const std::vector<int>& gpus : sets_of_gpus()) {
    const auto backend = backend::make_cuda_backend(gpus);
    for (const std::uint64_t megabytes : {220, 300, 400, 600, 800, 1000}) {
      CAPTURE(megabytes);
      plan.devices.memory_bytes = megabytes << 20;
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
  backend::CountPlan plan = roomy_plan_for(31);
  const Result expected = run(*backend::make_cpu_backend(), plan, batches, Take::payloads);
  plan.threads = 4;
  std::uint64_t host_bytes = 0;
  for (const std::vector<int>& gpus : sets_of_gpus()) {
    CAPTURE(gpus.size());
    const auto backend = backend::make_cuda_backend(gpus);
    const auto sharers = static_cast<std::uint64_t>(std::count(gpus.begin(), gpus.end(), gpus.front()));
    for (const std::uint64_t megabytes : {180, 240}) {
      CAPTURE(megabytes);
      plan.devices.memory_bytes = (megabytes << 20) * sharers;  // for all that share the GPU
      const Result tight = run(*backend, plan, batches, Take::payloads);
      check_same_bytes(tight, expected);
      host_bytes += tight.spilled.host_bytes;
    }
  }
  CHECK(host_bytes > 0);
}

TEST_CASE("ranks with little memory of their GPUs count early or spill, and one that fails ends all") {
  const auto batches = batches_of(simulated_reads(1200000, 90000000, 4), 2000);
  backend::CountPlan plan = roomy_plan_for(31);
  const Result expected = run(*backend::make_cpu_backend(), plan, batches, Take::payloads);
  plan.threads = 4;
  plan.devices.memory_bytes = std::uint64_t{200} << 20;
  const auto tight = on_gpus_of_ranks(plan, batches);
  if (!tight) return;
  CHECK(tight->errors == std::vector<std::string>(tight->errors.size()));
  CHECK((tight->payloads == expected.payloads));
  CHECK(tight->early_counts + tight->host_bytes > 0);
  auto damaged = batches_of(simulated_reads(300000, 90000000, 5), 2000);
  damaged[damaged.size() / 2].text.data()[7] = '!';
  const auto failed = on_gpus_of_ranks(plan, damaged);
  for (const std::string& error : failed->errors) CHECK(error.find("'!'") != std::string::npos);
}

TEST_CASE("an error of the sink ends a session of several GPUs") {
  for (const std::vector<int>& gpus : sets_of_gpus()) {
    const auto backend = backend::make_cuda_backend(gpus);
    for (const unsigned threads : {1u, 2u, 5u}) end_with_the_sink(*backend, 31, threads, 100);
  }
}

TEST_CASE("copies between GPUs arrive, directly and through the host") {
  for (const std::vector<int>& gpus : sets_of_gpus()) {
    for (const bool through_host : {false, true}) {
      gpu::Peers peers(gpus, through_host);
      CHECK((!through_host || !peers.reaches(0, 1)));
      for (const std::size_t bytes :
           {std::size_t{0}, std::size_t{1}, std::size_t{4097}, std::size_t{20} << 20, std::size_t{9} << 20}) {
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
