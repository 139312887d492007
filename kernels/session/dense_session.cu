#include <string>
#include <utility>

#include "backend/dense_counts.h"
#include "base/memory_text.h"
#include "kernels/count/dense_counter.cuh"
#include "kernels/session/fed_session.cuh"
#include "kernels/session/session.cuh"
#include "mpi/rank_sums.h"

namespace warpmer::gpu {

namespace {

/// For k <= 12.
class DeviceDenseSession : public FedSession<DenseCounting> {
 public:
  DeviceDenseSession(Peers& peers, const backend::CountPlan& plan)
      : FedSession(peers, plan), tally_(plan.kept) {
    check_room(peers, plan);
    for (const int gpu : peers.gpus()) {
      const CurrentDevice current(gpu);
      counters_.push_back(std::make_unique<DenseCounter>(plan.kmers.k));
    }
  }
  ~DeviceDenseSession() override { destroy(counters_); }

  void finish(unsigned thread, const backend::ShardSink& sink,
              const std::function<void()>& shard_done) override {
    if (thread != 0) return;
    std::vector<std::uint64_t> all = sums();
    if (!mpi::add_up_over_ranks(*plan_.ranks, all)) return;
    sink(0, backend::freeze_dense(std::move(all), plan_.kmers.k, plan_.kmers.canonical, tally_));
    shard_done();
  }
  [[nodiscard]] std::vector<std::uint64_t> sums() const override {
    std::vector<std::uint64_t> sums;
    for (std::uint32_t number = 0; number < counters_.size(); ++number) {
      const CurrentDevice current(peers_.gpu(number));
      const std::vector<std::uint64_t> counts = counters_[number]->counts();
      sums.resize(counts.size());
      for (std::size_t i = 0; i < counts.size(); ++i) sums[i] += counts[i];
    }
    return sums;
  }
  [[nodiscard]] backend::Tally tally() const override { return tally_; }
  [[nodiscard]] backend::SessionReport report() const override {
    backend::SessionReport report;
    report.stages = feed_stages();
    report.device_memory = device_memory();
    return report;
  }

 private:
  static void check_room(const Peers& peers, const backend::CountPlan& plan) {
    const std::uint64_t counters = DenseCounter::device_bytes(plan.kmers.k);
    (void)host_bytes_beside_feeds(peers, plan, backend::dense_freeze_bytes(plan.kmers.k));
    const std::uint64_t allowed = device_bytes_beside_feeds(peers, plan);
    if (counters > allowed) {
      throw ResourceError(plan.purpose + " with k = " + std::to_string(plan.kmers.k) + " on the GPU takes " +
                          megabytes_up(counters) + " of its memory beside the feeds, and " +
                          megabytes(allowed) +
                          " are free or allowed for it; raise --device-memory, choose another GPU, or use "
                          "--device cpu");
    }
  }

  KmerCounter& counter(std::uint32_t number) override { return *counters_[number]; }

  std::vector<std::unique_ptr<DenseCounter>> counters_;
  backend::Tally tally_;
};

}  // namespace

std::unique_ptr<DenseCounting> make_dense_session(Peers& peers, const backend::CountPlan& plan) {
  return std::make_unique<DeviceDenseSession>(peers, plan);
}

}  // namespace warpmer::gpu
