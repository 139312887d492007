#include <algorithm>
#include <utility>

#include "kernels/exchange/rank_carrier.cuh"
#include "kernels/session/fed_session.cuh"
#include "kernels/session/session.cuh"
#include "kernels/session/shard_delivery.cuh"
#include "kmer/minimizer.h"
#include "mpi/process_group.h"

namespace warpmer::gpu {

namespace {

/// For k > 12.
class DeviceShardedSession : public FedSession<ShardedCounting> {
 public:
  DeviceShardedSession(Peers& peers, const backend::CountPlan& plan)
      : FedSession(peers, plan), delivery_(peers, plan.threads) {
    const DeviceCountPlan device = device_plan(peers, plan);
    if (plan.ranks->are_several()) {
      auto carrier = make_rank_carrier(peers, *plan.ranks);
      counters_ = make_device_counters(agreed_upon(device, *plan.ranks), std::move(carrier));
    } else if (peers.size() > 1) {
      counters_ = make_device_counters(device, std::make_unique<PeerCarrier>(peers));
    } else {
      const CurrentDevice current(peers.gpu(0));
      counters_.push_back(make_device_counter(device));
    }
  }
  ~DeviceShardedSession() override { destroy(counters_); }

  void finish(unsigned thread, const backend::ShardSink& sink,
              const std::function<void()>& shard_done) override {
    delivery_.run(thread, sink, shard_done,
                  [&](std::uint32_t number, ChunkSink& chunks) { counters_[number]->finish(chunks); });
  }
  [[nodiscard]] DeviceCounter& device_counter(std::uint32_t number) override { return *counters_[number]; }

  [[nodiscard]] backend::Tally tally() const override {
    backend::Tally tally(plan_.kept);
    for (const auto& counter : counters_) counter->add_to(tally);
    return tally;
  }
  [[nodiscard]] backend::SpillReport spilled() const override {
    const SpillTotals moved = spill_totals();
    return {.written_bytes = moved.to_file, .read_bytes = moved.from_file, .host_bytes = moved.to_host};
  }
  [[nodiscard]] backend::SessionReport report() const override {
    backend::SessionReport report;
    report.stages = stages();
    report.owner_loads = owner_loads();
    const DeviceTimes times = device_times();
    double busy = times.cut + times.split + times.exchange - times.late_exchange;
    for (const backend::StageReport& stage : feed_stages()) busy += stage.busy_seconds;
    if (reading_seconds() > 0) report.overlap = busy / reading_seconds();
    for (const auto& counter : counters_) report.early_counts += counter->early_counts();
    report.spilled = spilled();
    report.device_memory = device_memory();
    return report;
  }

 private:
  [[nodiscard]] std::vector<backend::StageReport> stages() const {
    auto stages = feed_stages();
    const DeviceTimes times = device_times();
    const std::uint64_t bytes =
        times.words * (plan_.kmers.k <= kMaxShortWordK ? sizeof(SuperKmer<2>) : sizeof(SuperKmer<4>));
    stages.push_back({"cut", times.cut, stages.front().bytes});
    stages.push_back({"split", times.split, bytes});
    if (are_several_owners()) stages.push_back({"exchange", times.exchange, times.exchanged_bytes});
    const SpillTotals moved = spill_totals();
    stages.push_back({"spill", moved.out_seconds, moved.to_host + moved.to_file});
    stages.push_back({"read back", moved.back_seconds, moved.from_host + moved.from_file});
    stages.push_back({"count", times.count, bytes});
    stages.push_back({"freeze", times.freeze, delivery_.bytes()});
    stages.push_back({"copy to host", delivery_.seconds(), delivery_.bytes()});
    return stages;
  }
  [[nodiscard]] std::vector<backend::OwnerLoad> owner_loads() const {
    std::vector<backend::OwnerLoad> loads;
    for (std::uint32_t number = 0; are_several_owners() && number < peers_.size(); ++number) {
      const CurrentDevice current(peers_.gpu(number));
      backend::Tally tally;
      counters_[number]->add_to(tally);
      loads.push_back({counters_[number]->times().words, tally.totals().counted_distinct});
    }
    return loads;
  }

  /// Threads that copy what the GPUs have no room for: one for so many that read.
  static constexpr unsigned kThreadsPerSpiller = 2, kMostSpillers = 8, kSpillersShare = 8;
  static constexpr std::uint64_t kBytesOfSpiller = SpilledSegments<2>::kLeastBytesOfThread;
  /// The index writer may keep, for shards that wait for others, one part in this many of the process's
  /// memory (jobs/session_run).
  static constexpr std::uint64_t kWriterShare = 16;

  static DeviceCountPlan device_plan(const Peers& peers, const backend::CountPlan& plan) {
    DeviceCountPlan device;
    device.kmers = plan.kmers;
    device.kept = plan.kept;
    device.histogram_only = plan.histogram_only;
    device.table = plan.table;
    device.spill = spill_plan(peers, plan);
    device.memory_bytes = device_bytes_beside_feeds(peers, plan);
    device.expected_kmers = plan.input_bytes;
    device.purpose = plan.purpose;
    return device;
  }

  /// Returns the plan that all ranks agree on, with the least memory and all input. All ranks call it
  /// together.
  static DeviceCountPlan agreed_upon(DeviceCountPlan plan, mpi::ProcessGroup& ranks) {
    const std::vector<std::uint64_t> memory = ranks.all_gather(plan.memory_bytes);
    plan.memory_bytes = *std::min_element(memory.begin(), memory.end());
    plan.expected_kmers = ranks.sum(plan.expected_kmers);
    return plan;
  }

  /// Returns the plan for words for which a counter's device has no room.
  static SpillPlan spill_plan(const Peers& peers, const backend::CountPlan& plan) {
    SpillPlan spill;
    // Little memory is not for buffers.
    const std::uint64_t affordable = plan.memory_bytes / kSpillersShare / kBytesOfSpiller / peers.size();
    const std::uint64_t busy = plan.threads / (kThreadsPerSpiller * peers.size());
    spill.threads =
        static_cast<unsigned>(std::clamp<std::uint64_t>(std::min(busy, affordable), 1, kMostSpillers));
    spill.place = plan.spill;
    const std::uint64_t writer = plan.memory_cap_bytes / kWriterShare;
    const std::uint64_t spillers = std::uint64_t{spill.threads} * peers.size() * kBytesOfSpiller;
    const std::uint64_t left = host_bytes_beside_feeds(peers, plan, spillers);
    spill.host_bytes = (left - std::min(left, writer)) / peers.size();
    return spill;
  }

  KmerCounter& counter(std::uint32_t number) override { return *counters_[number]; }

  void end_all_input() override {
    for (std::uint32_t number = 0; number < peers_.size(); ++number) {
      const CurrentDevice current(peers_.gpu(number));
      counters_[number]->end_of_input();
    }
  }

  [[nodiscard]] SpillTotals spill_totals() const {
    SpillTotals all;
    for (const auto& counter : counters_) all.add(counter->spilled());
    return all;
  }

  [[nodiscard]] DeviceTimes device_times() const {
    DeviceTimes all;
    for (std::uint32_t number = 0; number < peers_.size(); ++number) {
      const CurrentDevice current(peers_.gpu(number));
      all.add(counters_[number]->times());
    }
    return all;
  }

  /// True when several GPUs, perhaps of other ranks, divide all shards among them.
  [[nodiscard]] bool are_several_owners() const { return plan_.ranks->are_several() || peers_.size() > 1; }

  std::vector<std::unique_ptr<DeviceCounter>> counters_;  ///< by GPU
  ShardDelivery delivery_;
};

}  // namespace

std::unique_ptr<ShardedCounting> make_sharded_session(Peers& peers, const backend::CountPlan& plan) {
  return std::make_unique<DeviceShardedSession>(peers, plan);
}

std::unique_ptr<backend::CountingSession> make_session(Peers& peers, const backend::CountPlan& plan) {
  if (plan.kmers.k <= kMaxDenseK) return make_dense_session(peers, plan);
  return make_sharded_session(peers, plan);
}

}  // namespace warpmer::gpu
