// Tests that words that GPUs exchange arrive, by copies and by NCCL, or that all GPUs hear of it when they
// cannot, and that slices are those that shards need.

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/thread_team.h"
#include "gpu/counter_runs.cuh"
#include "gpu/device.h"
#include "gpu/random_reads.h"
#include "kernels/exchange/nccl.cuh"
#include "kernels/exchange/rank_carrier.cuh"
#include "kernels/exchange/slices.cuh"
#include "mpi/process_group.h"

namespace {

using namespace warpmer;
using tests::Payloads;

gpu::DeviceCountPlan plan_for(std::uint32_t k) {
  gpu::DeviceCountPlan plan;
  plan.kmers.k = k;
  plan.memory_bytes = std::uint64_t{2} << 30;
  plan.expected_kmers = 1000000;  // little staging, so that there are several rounds
  return plan;
}

Payloads on_one(const std::vector<std::string>& reads, const gpu::DeviceCountPlan& plan, int times) {
  const auto counter = gpu::make_device_counter(plan);
  tests::feed(*counter, reads, times);
  counter->end_of_input();
  Payloads payloads;
  tests::finish(*counter, payloads);
  return payloads;
}

/// Each GPU has some of the reads, the first one none.
Payloads on_several(const std::vector<std::string>& reads, const gpu::DeviceCountPlan& plan, int times,
                    gpu::Peers& peers, std::unique_ptr<gpu::Carrier> carrier) {
  auto counters = gpu::make_device_counters(plan, std::move(carrier));
  // A GPU that is ahead waits for the others.
  run_team(
      peers.size(),
      [&](unsigned i) {
        const gpu::CurrentDevice current(peers.gpu(i));
        std::vector<std::string> own;
        for (std::size_t r = 0; r < reads.size(); ++r) {
          if (i > 0 && r % (peers.size() - 1) == i - 1) own.push_back(reads[r]);
        }
        tests::feed(*counters[i], own, times);
        counters[i]->end_of_input();
      },
      [] {});
  Payloads payloads;
  for (std::uint32_t i = 0; i < peers.size(); ++i) {
    const gpu::CurrentDevice current(peers.gpu(i));
    tests::finish(*counters[i], payloads);
    counters[i].reset();
  }
  return payloads;
}

/// True when there are several GPUs, and NCCL for them.
bool has_nccl() {
  try {
    gpu::NcclLibrary::open();
  } catch (const ResourceError& error) {
    MESSAGE("without NCCL: ", error.what());
    return false;
  }
  return tests::all_gpus().size() > 1;
}

constexpr const char* kLost = "a GPU has fallen off the bus";

/// Another carrier, until something was carried or waited for so many times. From then on all of that fails.
class FailingCarrier final : public gpu::Carrier {
 public:
  FailingCarrier(std::unique_ptr<gpu::Carrier> carrier, int steps)
      : Carrier(carrier->gpus()), carrier_(std::move(carrier)), steps_left_(steps) {}

  mpi::Rounds& rounds() override { return carrier_->rounds(); }
  void connect() override { carrier_->connect(); }
  void carry(const std::vector<gpu::Move>& moves, const std::vector<cudaStream_t>& streams) override {
    step();
    carrier_->carry(moves, streams);
  }
  void wait(const gpu::Event& event) override {
    step();
    carrier_->wait(event);
  }
  void abandon() noexcept override { carrier_->abandon(); }
  void give_up() noexcept override { carrier_->give_up(); }

 private:
  void step() {
    if (--steps_left_ < 0) throw ResourceError(kLost);
  }
  const std::unique_ptr<gpu::Carrier> carrier_;
  int steps_left_;
};

/// True when all GPUs have what they should in spite of a carrier that fails after so many steps. Else they
/// have to say why not.
bool survives(const std::vector<std::string>& reads, const gpu::DeviceCountPlan& plan, int times,
              gpu::Peers& peers, std::unique_ptr<gpu::Carrier> carrier, int steps, const Payloads& expected) {
  Payloads payloads;
  try {
    payloads =
        on_several(reads, plan, times, peers, std::make_unique<FailingCarrier>(std::move(carrier), steps));
  } catch (const ResourceError& error) {
    CHECK(error.what() == std::string(kLost));
    return false;
  }
  CHECK((payloads == expected));
  return true;
}

TEST_CASE("GPUs of one process exchange by copies, or by NCCL as those of ranks do") {
  const auto reads = tests::random_reads(4000, 30000, 4);
  const bool by_nccl = has_nccl();
  for (const std::uint32_t k : {21u, 31u, 55u}) {
    if (!tests::can_count(k)) continue;
    CAPTURE(k);
    // Once, the only round is the last; many times, there are several.
    for (const int times : {1, 40}) {
      CAPTURE(times);
      const auto plan = plan_for(k);
      const Payloads expected = on_one(reads, plan, times);
      for (const std::vector<int>& gpus : tests::sets_of_gpus()) {
        gpu::Peers peers(gpus);
        CHECK((on_several(reads, plan, times, peers, std::make_unique<gpu::PeerCarrier>(peers)) == expected));
      }
      if (!by_nccl) continue;
      gpu::Peers peers(tests::all_gpus());
      CHECK((on_several(reads, plan, times, peers, gpu::make_rank_carrier(peers, mpi::single_process())) ==
             expected));
    }
  }
}

TEST_CASE("when an exchange fails, at whatever step, all GPUs hear of it") {
  const auto reads = tests::random_reads(4000, 30000, 4);
  constexpr int kTimes = 10;
  const auto plan = plan_for(31);
  const Payloads expected = on_one(reads, plan, kTimes);
  for (const std::vector<int>& gpus : tests::sets_of_gpus()) {
    gpu::Peers peers(gpus);
    int steps = 0;
    while (!survives(reads, plan, kTimes, peers, std::make_unique<gpu::PeerCarrier>(peers), steps, expected))
      ++steps;
    CHECK(steps > static_cast<int>(gpu::kSlices));
  }
  if (!has_nccl()) return;
  gpu::Peers peers(tests::all_gpus());
  for (const int steps : {0, 1, 2, 5, 20}) {
    CHECK_FALSE(survives(reads, plan, kTimes, peers, gpu::make_rank_carrier(peers, mpi::single_process()),
                         steps, expected));
  }
}

TEST_CASE("slices that shards want") {
  constexpr std::uint32_t kShards = 300, kBinsPerShard = 4, kBins = kShards * kBinsPerShard;
  std::mt19937 random(3);
  gpu::Stream stream;
  for (const std::uint32_t parts : {1u, 3u}) {
    gpu::Segment<2> segment(0, 0, kBins, parts);
    std::vector<std::uint32_t> offsets, wanted(kShards);
    for (std::uint32_t part = 0; part < parts; ++part) {
      std::vector<std::uint32_t> of_part = {part * 1000};
      // One bin has most of the words of a part, and one part has none.
      for (std::uint32_t bin = 0; bin < kBins; ++bin)
        of_part.push_back(of_part.back() + (part == 1 ? 0 : bin == 700 ? 5000 : random() % 5));
      const std::uint64_t words = of_part.back() - of_part.front();
      for (std::uint32_t shard = 0; shard < kShards; ++shard) {
        const std::uint64_t before = of_part[(shard + 1) * kBinsPerShard] - of_part.front();
        std::uint32_t slices = 0;
        while (gpu::slice_begin(words, slices) < before) ++slices;
        wanted[shard] = std::max(wanted[shard], slices);
      }
      offsets.insert(offsets.end(), of_part.begin(), of_part.end());
    }
    gpu::copy_to_device(segment.offsets.data(), offsets.data(), offsets.size(), stream);
    CHECK((gpu::slices_wanted(segment, kBinsPerShard, stream) == wanted));
    CHECK(wanted.back() == gpu::kSlices);
    CHECK(wanted.front() == 1);
  }
}

}  // namespace
