#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <optional>
#include <utility>

#include "backend/dense_counts.h"
#include "base/memory_text.h"
#include "kernels/count/dense_counter.cuh"
#include "kernels/exchange/rank_carrier.cuh"
#include "kernels/memory/held_memory.cuh"
#include "kernels/session/batch_feed.cuh"
#include "kernels/session/session.cuh"
#include "kernels/session/shard_delivery.cuh"
#include "kmer/minimizer.h"
#include "mpi/process_group.h"
#include "mpi/rank_sums.h"

namespace warpmer::gpu {

namespace {

/// Pinned and device memory of a feed, and what the CUDA runtime holds in the process for the first GPU and
/// for each further one, and NCCL, in ranks, for each, about.
constexpr std::uint64_t kFeedBytes = std::uint64_t{12} << 20;
constexpr std::uint64_t kRuntimeBytes = std::uint64_t{300} << 20;
constexpr std::uint64_t kFurtherGpuBytes = std::uint64_t{150} << 20;
constexpr std::uint64_t kNcclBytes = std::uint64_t{200} << 20;
/// The memory that NCCL holds of each GPU beside the pool (measured with two ranks: 1.2 GB, with all channels
/// 1.6).
constexpr std::uint64_t kNcclDeviceBytes = std::uint64_t{1700} << 20;

/// Returns the part of -m beside feeding the GPUs and `more_host_bytes`. Throws a ResourceError when these
/// are more.
std::uint64_t host_bytes_beside_feeds(const Peers& peers, const backend::CountPlan& plan,
                                      std::uint64_t more_host_bytes) {
  const std::uint64_t host = plan.threads * kFeedBytes + runtime_host_bytes(peers) +
                             (plan.ranks->are_several() ? peers.size() * kNcclBytes : 0) + more_host_bytes;
  if (plan.memory_bytes < host) {
    throw ResourceError("-m leaves " + megabytes(plan.memory_bytes) + " of host memory for " + plan.purpose +
                        ", and feeding the GPU with " + number_of_threads(plan.threads) +
                        " and what comes back take " + megabytes(host) + "; " +
                        std::string(memory_advice(plan.threads)));
  }
  return plan.memory_bytes - host;
}

/// Returns the memory of the current device that a session may hold. Without a limit of the user's, it leaves
/// room for NCCL, which comes later.
std::uint64_t device_cap_of(const backend::CountPlan& plan) {
  const std::uint64_t cap = device_cap(plan.devices.memory_bytes);
  if (plan.devices.memory_bytes > 0 || !plan.ranks->are_several()) return cap;
  const std::uint64_t available = available_bytes();
  return std::min(cap, available - std::min(available, kNcclDeviceBytes));
}

/// Returns the number of peers for which a GPU stands.
std::uint64_t sharers_of(const Peers& peers, int gpu) {
  return static_cast<std::uint64_t>(std::count(peers.gpus().begin(), peers.gpus().end(), gpu));
}

/// Feeds may take one part in this many of a GPU's memory.
constexpr std::uint64_t kFeedsShare = 4;

/// Feeds of each GPU. Threads share them where there is little memory: eight are nearly as fast as sixteen.
std::uint32_t feeds_per_gpu(const Peers& peers, const backend::CountPlan& plan) {
  std::uint64_t most = (plan.threads + peers.size() - 1) / peers.size();
  for (const int gpu : peers.gpus()) {
    const CurrentDevice current(gpu);
    most = std::min(most, device_cap_of(plan) / sharers_of(peers, gpu) / kFeedsShare / kFeedBytes);
  }
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(most, 1));
}

/// Returns the memory of each GPU that a session may take beside its feeds.
std::uint64_t device_bytes_beside_feeds(const Peers& peers, const backend::CountPlan& plan) {
  const std::uint64_t feeds = feeds_per_gpu(peers, plan) * kFeedBytes;
  std::uint64_t least = UINT64_MAX;
  for (const int gpu : peers.gpus()) {
    const CurrentDevice current(gpu);
    least = std::min(least, planned_with(device_cap_of(plan)) / sharers_of(peers, gpu));
  }
  return least - std::min(feeds, least);
}

/// The common part of both sessions while reads come in: threads feed the GPUs in turn.
template <class Interface>
class Session : public Interface {
 public:
  std::uint64_t add(io::Batch& batch, unsigned thread) override {
    return with_feed(thread, [&](BatchFeed& feed) { return feed.add(batch); });
  }
  std::uint64_t end_of_input(unsigned thread) override {
    const std::uint64_t kmers = with_feed(thread, [](BatchFeed& feed) { return feed.finish(); });
    if (threads_in_.fetch_sub(1) == 1) {
      end_all_input();
      end_ = std::chrono::steady_clock::now();
    }
    return kmers;
  }

 protected:
  Session(Peers& peers, const backend::CountPlan& plan)
      : peers_(peers),
        plan_(plan),
        shared_(peers.size()),
        feeds_(feeds_per_gpu(peers, plan) * peers.size()),
        threads_in_(plan.threads) {
    for (const int gpu : peers.gpus()) {
      const CurrentDevice current(gpu);
      forget_peak();
      cap_bytes_ = std::max(cap_bytes_, device_cap_of(plan));
    }
    // The pool keeps this, so that feeds, which allocate piece by piece, do not wait for the driver.
    const std::uint64_t feeds = feeds_.size() / peers.size() * kFeedBytes;
    for (const int gpu : peers.gpus()) {
      const CurrentDevice current(gpu);
      const DeviceArray<char> for_feeds(std::min(feeds, available_bytes() / 2));
    }
  }
  ~Session() override {
    for (std::uint32_t number = 0; number < feeds_.size(); ++number) {
      cudaSetDevice(peers_.gpu(number % peers_.size()));
      feeds_[number].feed.reset();
    }
  }

  /// For destructors: destroys the counters of the GPUs. After an error there may be work under way, which
  /// has to be over before the memory it works on goes.
  template <class Counters>
  void destroy(Counters& counters) const noexcept {
    for (const int gpu : peers_.gpus()) {
      cudaSetDevice(gpu);
      cudaDeviceSynchronize();
    }
    for (std::uint32_t number = 0; number < counters.size(); ++number) {
      cudaSetDevice(peers_.gpu(number));
      counters[number].reset();
    }
  }

  /// Calls `work` with a thread's feed, whose GPU is current, while no other thread uses it.
  template <class Work>
  std::uint64_t with_feed(unsigned thread, Work&& work) {
    LockedFeed& own = feeds_[thread % feeds_.size()];
    const std::uint32_t number = thread % feeds_.size() % peers_.size();
    const std::lock_guard lock(own.mutex);
    check(cudaSetDevice(peers_.gpu(number)), "choosing a GPU");
    if (!own.feed) own.feed = std::make_unique<BatchFeed>(shared(number), plan_.reading);
    return work(*own.feed);
  }

  [[nodiscard]] std::vector<backend::StageReport> feed_stages() const {
    backend::StageReport join{"join", 0, 0}, copy{"copy to device", 0, 0}, find{"find records", 0, 0};
    for (const auto& [mutex, feed] : feeds_) {
      if (!feed) continue;
      join.busy_seconds += feed->join_seconds();
      copy.busy_seconds += feed->copy_seconds();
      find.busy_seconds += feed->find_seconds();
      copy.bytes += feed->copied_bytes();
    }
    join.bytes = find.bytes = copy.bytes;
    return {join, copy, find};
  }

  [[nodiscard]] backend::DeviceMemoryReport device_memory() const {
    backend::DeviceMemoryReport report{cap_bytes_, 0, 0};
    for (const int gpu : peers_.gpus()) {
      const CurrentDevice current(gpu);
      const HeldBytes held = held_bytes();
      report.peak_bytes = std::max(report.peak_bytes, held.peak);
      report.beside_bytes = std::max(report.beside_bytes, held.beside);
    }
    return report;
  }

  [[nodiscard]] backend::FoundInText found_in_text() const override {
    backend::FoundInText all;
    for (const auto& [mutex, feed] : feeds_) {
      if (!feed) continue;
      all.records += feed->found_in_text().records;
      all.bases += feed->found_in_text().bases;
    }
    return all;
  }

  /// Wall time from the start of the session to the end of the last thread's input.
  [[nodiscard]] double reading_seconds() const {
    return std::chrono::duration<double>(end_ - start_).count();
  }

  CounterQueue& shared(std::uint32_t number) {
    const std::lock_guard lock(shared_mutex_);
    if (!shared_[number]) shared_[number].emplace(counter(number));
    return *shared_[number];
  }
  /// The one of a GPU.
  virtual KmerCounter& counter(std::uint32_t number) = 0;
  /// All feeds are empty.
  virtual void end_all_input() {}

  Peers& peers_;
  const backend::CountPlan plan_;

 private:
  std::uint64_t cap_bytes_ = 0;
  std::mutex shared_mutex_;
  std::deque<std::optional<CounterQueue>> shared_;  ///< by GPU; made when they are needed
  struct LockedFeed {
    std::mutex mutex;
    std::unique_ptr<BatchFeed> feed;  ///< made when it is needed
  };
  std::deque<LockedFeed> feeds_;  ///< those of the GPUs by turns
  std::atomic<unsigned> threads_in_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point end_ = start_;
};

/// For k <= 12.
class DeviceDenseSession : public Session<DenseCounting> {
 public:
  DeviceDenseSession(Peers& peers, const backend::CountPlan& plan) : Session(peers, plan), tally_(plan.kept) {
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

/// For k > 12.
class DeviceShardedSession : public Session<ShardedCounting> {
 public:
  DeviceShardedSession(Peers& peers, const backend::CountPlan& plan)
      : Session(peers, plan), delivery_(peers, plan.threads) {
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

std::uint64_t runtime_host_bytes(const Peers& peers) {
  return kRuntimeBytes + (peers.size() - 1) * kFurtherGpuBytes;
}

std::unique_ptr<ShardedCounting> make_sharded_session(Peers& peers, const backend::CountPlan& plan) {
  return std::make_unique<DeviceShardedSession>(peers, plan);
}

std::unique_ptr<DenseCounting> make_dense_session(Peers& peers, const backend::CountPlan& plan) {
  return std::make_unique<DeviceDenseSession>(peers, plan);
}

std::unique_ptr<backend::CountingSession> make_session(Peers& peers, const backend::CountPlan& plan) {
  if (plan.kmers.k <= kMaxDenseK) return make_dense_session(peers, plan);
  return make_sharded_session(peers, plan);
}

}  // namespace warpmer::gpu
