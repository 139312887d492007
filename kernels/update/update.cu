// Updating an index on GPUs: what the two counting sessions have of a shard, frozen and still on the device,
// is merged there with that of the index.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/dense_update.h"
#include "kernels/memory/held_memory.cuh"
#include "kernels/session/memory_division.cuh"
#include "kernels/session/session.cuh"
#include "kernels/session/shard_delivery.cuh"
#include "kernels/update/index_merger.cuh"
#include "kernels/update/update.cuh"
#include "kmer/minimizer.h"
#include "kmer/ownership.h"

namespace warpmer::gpu {

namespace {

/// Merging may take one part in this many of the device's memory, and of the host's. (All of the index goes
/// through it, and the added k-mers are usually fewer.)
constexpr std::uint64_t kMergerShare = 2, kMergerHostShare = 4;

/// The division of a job's memory.
struct UpdateDivision {
  MergerPlan merger;                 ///< plan for each GPU
  std::uint64_t session_device = 0;  ///< memory of each session on each GPU
  std::uint64_t session_host = 0;
  std::uint64_t cap = 0;  ///< cap on a GPU's memory
  std::string purpose;    ///< name of a session in messages
};

unsigned sessions_of(const backend::UpdatePlan& plan) {
  return (plan.added ? 1 : 0) + (plan.removed ? 1 : 0);
}
const backend::CountPlan& any_of(const backend::UpdatePlan& plan) {
  return plan.added ? *plan.added : *plan.removed;
}

UpdateDivision divide(const Peers& peers, const backend::UpdatePlan& plan, const index::IndexFile& index) {
  const backend::CountPlan& any = any_of(plan);
  UpdateDivision division;
  std::uint64_t least = UINT64_MAX;
  for (const int gpu : peers.gpus()) {
    const CurrentDevice current(gpu);
    least = std::min(least, device_cap(any.devices.memory_bytes));
    division.cap = std::max(division.cap, device_cap(any.devices.memory_bytes));
  }
  std::uint64_t mergers = 0, host = 0;
  if (any.kmers.k > kMaxDenseK) {
    const auto sharers =  // of one GPU, in tests
        static_cast<std::uint64_t>(std::count(peers.gpus().begin(), peers.gpus().end(), peers.gpu(0)));
    division.merger = plan_merger(index, planned_with(least) / kMergerShare / sharers,
                                  any.memory_bytes / kMergerHostShare / peers.size(), peers.size());
    mergers = division.merger.device_bytes(index.params().k) * sharers;
    host = division.merger.host_bytes() * peers.size();
  }
  division.session_device = (least - mergers) / sessions_of(plan);
  const std::uint64_t left = any.memory_bytes - host, runtime = std::min(runtime_host_bytes(peers), left);
  division.session_host = (left - runtime) / sessions_of(plan) + runtime;
  division.purpose =
      (sessions_of(plan) == 1 ? "counting for an update of " : "each of the two counts for an update of ") +
      index.path();
  return division;
}

/// One session's plan, with its share.
backend::CountPlan shared_plan(const backend::CountPlan& whole, const UpdateDivision& division) {
  backend::CountPlan plan = whole;
  plan.devices.memory_bytes = division.session_device;
  plan.memory_bytes = division.session_host;
  plan.purpose = division.purpose;
  return plan;
}

/// k > 12.
class DeviceShardedUpdate : public backend::UpdatingSession {
 public:
  DeviceShardedUpdate(Peers& peers, const backend::UpdatePlan& plan, const index::IndexFile& index)
      : peers_(peers), division_(divide(peers, plan, index)), delivery_(peers, any_of(plan).threads) {
    const auto start = [&](const std::optional<backend::CountPlan>& whole) {
      return whole ? make_sharded_session(peers, shared_plan(*whole, division_)) : nullptr;
    };
    added_ = start(plan.added);
    removed_ = start(plan.removed);
    for (std::uint32_t number = 0; number < peers.size(); ++number) {
      const CurrentDevice current(peers.gpu(number));
      mergers_.push_back(make_index_merger(index, shards_of(number, index), division_.merger));
    }
  }
  ~DeviceShardedUpdate() override {
    for (std::uint32_t number = 0; number < mergers_.size(); ++number) {
      cudaSetDevice(peers_.gpu(number));
      mergers_[number].reset();
    }
  }

  [[nodiscard]] backend::CountingSession* added() override { return added_.get(); }
  [[nodiscard]] backend::CountingSession* removed() override { return removed_.get(); }

  void finish(unsigned thread, const backend::ShardSink& sink,
              const std::function<void()>& shard_done) override {
    delivery_.run(thread, sink, shard_done, [&](std::uint32_t number, ChunkSink& chunks) {
      std::optional<ChunkFeed> added, removed;
      if (added_) added.emplace(added_->device_counter(number), peers_.gpu(number));
      if (removed_) removed.emplace(removed_->device_counter(number), peers_.gpu(number));
      mergers_[number]->merge(added ? &*added : nullptr, removed ? &*removed : nullptr, chunks);
      if (added) added->finish();
      if (removed) removed->finish();
    });
  }

  [[nodiscard]] backend::Tally tally() const override {
    backend::Tally all;
    for (const auto& merger : mergers_) all.merge(merger->tally());
    return all;
  }
  [[nodiscard]] backend::Shortfall shortfall() const override {
    backend::Shortfall all;
    for (const auto& merger : mergers_) all.merge(merger->shortfall());
    return all;
  }
  [[nodiscard]] backend::SessionReport report() override {
    backend::SessionReport report = report_of_sessions();
    if (report.device_memory) report.device_memory->cap_bytes = division_.cap;
    double waiting = 0, merging = 0;
    std::uint64_t bytes = 0;
    for (const auto& merger : mergers_) {
      waiting += merger->seconds_waited();
      merging += merger->seconds();
      bytes += merger->bytes();
    }
    report.stages.push_back({"wait for index", waiting, bytes});
    report.stages.push_back({"merge", merging, bytes});
    report.stages.push_back({"copy to host", delivery_.seconds(), delivery_.bytes()});
    return report;
  }

 private:
  [[nodiscard]] index::ShardRange shards_of(std::uint32_t number, const index::IndexFile& index) const {
    const std::uint32_t shards = index.params().shards();
    return {first_shard_of(number, peers_.size(), shards), first_shard_of(number + 1, peers_.size(), shards)};
  }

  Peers& peers_;
  const UpdateDivision division_;
  std::unique_ptr<ShardedCounting> added_, removed_;
  std::vector<std::unique_ptr<IndexMerger>> mergers_;  ///< by GPU
  ShardDelivery delivery_;
};

}  // namespace

std::unique_ptr<backend::UpdatingSession> make_update(Peers& peers, const backend::UpdatePlan& plan,
                                                      const index::IndexFile& index) {
  if (index.params().k > kMaxDenseK) return std::make_unique<DeviceShardedUpdate>(peers, plan, index);
  const UpdateDivision division = divide(peers, plan, index);
  const auto start = [&](const std::optional<backend::CountPlan>& whole) {
    return whole ? make_dense_session(peers, shared_plan(*whole, division)) : nullptr;
  };
  return std::make_unique<backend::DenseUpdate<DenseCounting>>(start(plan.added), start(plan.removed), index);
}

}  // namespace warpmer::gpu
