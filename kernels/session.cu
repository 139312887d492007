#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <optional>

#include "batch_feed.cuh"
#include "core/minimizer.h"
#include "dense_counter.cuh"
#include "engine/dense_counts.h"
#include "session.cuh"

namespace warpmer::gpu {

namespace {

/// Pinned and device memory of a feed, and what the CUDA runtime holds in the process, about.
constexpr std::uint64_t kFeedBytes = std::uint64_t{12} << 20;
constexpr std::uint64_t kRuntimeBytes = std::uint64_t{300} << 20;

/// How much device memory a session may take beside its feeds. ResourceError when -m does not leave what
/// feeding the GPU and `more_host_bytes` take, or --device-memory allows more than can be had.
std::uint64_t device_bytes_beside_feeds(const engine::CountPlan& plan, std::uint64_t more_host_bytes) {
  const std::uint64_t feeds = plan.threads * kFeedBytes;
  const std::uint64_t host = feeds + kRuntimeBytes + more_host_bytes;
  if (plan.memory_bytes < host) {
    throw ResourceError("-m leaves " + megabytes(plan.memory_bytes) +
                        " of host memory for feeding the GPU with " + std::to_string(plan.threads) +
                        " threads and for what comes back, which take " + megabytes(host) +
                        "; raise -m or lower -t");
  }
  std::uint64_t device = plan.device_memory_bytes;
  if (device == 0) {
    device = usable_bytes();
  } else if (const std::uint64_t available = available_bytes(); device > available) {
    throw ResourceError("--device-memory allows " + megabytes(device) + ", but only " + megabytes(available) +
                        " of the GPU's memory are free");
  }
  return device - std::min(feeds, device);
}

/// What both sessions do while reads come in.
class Session : public engine::CountingSession {
 public:
  std::uint64_t add(io::Batch& batch, unsigned thread) override { return feed(thread).add(batch); }
  std::uint64_t end_of_input(unsigned thread) override {
    const std::uint64_t kmers = feed(thread).finish();
    const std::lock_guard lock(mutex_);
    end_ = std::chrono::steady_clock::now();
    return kmers;
  }

 protected:
  Session(int gpu, const engine::CountPlan& plan) : gpu_(gpu), plan_(plan), feeds_(plan.threads) {
    check(cudaSetDevice(gpu), "choosing a GPU");
    // The pool keeps this, so that feeds, which allocate piece by piece, do not wait for the driver.
    const DeviceArray<char> for_feeds(std::min(plan.threads * kFeedBytes, available_bytes() / 2));
  }

  void use_device() const { check(cudaSetDevice(gpu_), "choosing a GPU"); }

  /// For destructors: after an error there may be work under way, which has to be over before the memory
  /// it works on goes.
  void let_device_finish() const noexcept {
    cudaSetDevice(gpu_);
    cudaDeviceSynchronize();
  }

  /// The thread's own, made by the thread itself.
  BatchFeed& feed(unsigned thread) {
    use_device();
    if (!feeds_[thread])
      feeds_[thread] = std::make_unique<BatchFeed>(SharedCounter{&counter(), &mutex_}, plan_.lenient,
                                                   plan_.lowest_quality);
    return *feeds_[thread];
  }

  [[nodiscard]] std::vector<engine::StageReport> feed_stages() const {
    engine::StageReport join{"join", 0, 0}, copy{"copy to device", 0, 0}, find{"find records", 0, 0};
    for (const auto& feed : feeds_) {
      if (!feed) continue;
      join.busy_seconds += feed->join_seconds();
      copy.busy_seconds += feed->copy_seconds();
      find.busy_seconds += feed->find_seconds();
      copy.bytes += feed->copied_bytes();
    }
    join.bytes = find.bytes = copy.bytes;
    return {join, copy, find};
  }

  [[nodiscard]] engine::FoundInText found_in_text() const override {
    engine::FoundInText all;
    for (const auto& feed : feeds_) {
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

  virtual TextCounter& counter() = 0;

  const int gpu_;
  const engine::CountPlan plan_;

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<BatchFeed>> feeds_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point end_ = start_;
};

/// For k <= 12.
class DenseSession : public Session {
 public:
  DenseSession(int gpu, const engine::CountPlan& plan)
      : Session(gpu, plan), counter_(checked_k(plan)), tally_(plan.min_count, plan.max_count) {}
  ~DenseSession() override { let_device_finish(); }

  void finish(unsigned thread, const engine::ShardSink& sink,
              const std::function<void()>& shard_done) override {
    if (thread != 0) return;
    use_device();
    sink(0, engine::freeze_dense(counter_.counts(), plan_.k, plan_.canonical, tally_));
    shard_done();
  }
  [[nodiscard]] engine::Tally tally() const override { return tally_; }
  [[nodiscard]] std::vector<engine::StageReport> stages() const override {
    auto stages = feed_stages();
    return stages;
  }
  [[nodiscard]] std::uint64_t early_counts() const override { return 0; }

 private:
  /// The k of a plan that leaves room for counting it.
  static std::uint32_t checked_k(const engine::CountPlan& plan) {
    const std::uint64_t counters = DenseCounter::device_bytes(plan.k);
    const std::uint64_t allowed = device_bytes_beside_feeds(plan, engine::dense_freeze_bytes(plan.k));
    if (counters > allowed) {
      throw ResourceError("counting k = " + std::to_string(plan.k) + " on the GPU takes " +
                          megabytes(counters + (1u << 20) - 1) + " of its memory beside the feeds, and " +
                          megabytes(allowed) +
                          " are free or allowed; raise --device-memory, choose another GPU, or use "
                          "--device cpu");
    }
    return plan.k;
  }

  TextCounter& counter() override { return counter_; }

  DenseCounter counter_;
  engine::Tally tally_;
};

/// Frozen shards on their way from the device to whoever writes them.
class ShardQueue {
 public:
  struct Item {
    std::shared_ptr<const FrozenChunk> chunk;
    std::uint32_t number;  ///< of the shard in the chunk
  };

  /// Throws when somebody failed.
  void put(FrozenChunk&& frozen) {
    const auto chunk = std::make_shared<const FrozenChunk>(std::move(frozen));
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    left_[chunk->first_shard] = chunk->plans.size();
    for (std::uint32_t s = 0; s < chunk->plans.size(); ++s) items_.push_back({chunk, s});
    changed_.notify_all();
  }
  /// Waits for an item; none when no more come.
  std::optional<Item> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopped_ || !items_.empty(); });
    return pop();
  }
  /// One that is there, if any.
  std::optional<Item> try_take() {
    const std::lock_guard lock(mutex_);
    return pop();
  }
  void done(const Item& item) {
    const std::lock_guard lock(mutex_);
    --left_[item.chunk->first_shard];
    changed_.notify_all();
  }
  /// Waits until all shards of a chunk are done. Throws when somebody failed: the same error, because
  /// the first thread that comes back with one is heard.
  void wait_for(std::uint32_t first_shard) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failure_ || left_[first_shard] == 0; });
    if (failure_) std::rethrow_exception(failure_);
  }
  /// Nothing more comes.
  void close() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  /// Somebody failed: all stop.
  void fail(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    if (!failure_) failure_ = std::move(failure);
    items_.clear();
    changed_.notify_all();
  }

 private:
  std::optional<Item> pop() {
    if (items_.empty()) return std::nullopt;
    Item item = std::move(items_.front());
    items_.pop_front();
    return item;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> items_;
  std::map<std::uint32_t, std::size_t> left_;  ///< shards not done, by the chunk's first
  bool stopped_ = false;
  std::exception_ptr failure_;  ///< the first
};

/// For k > 12.
class ShardedSession : public Session {
 public:
  ShardedSession(int gpu, const engine::CountPlan& plan)
      : Session(gpu, plan), counter_(make_device_counter(device_plan(plan))) {}
  ~ShardedSession() override { let_device_finish(); }

  void finish(unsigned thread, const engine::ShardSink& sink,
              const std::function<void()>& shard_done) override {
    use_device();
    try {
      Courier courier;
      const auto deliver = [&](const ShardQueue::Item& item) {
        courier.deliver(item, sink);
        queue_.done(item);
        shard_done();
      };
      if (thread == 0) drive(deliver);
      while (const auto item = queue_.take()) deliver(*item);
      const std::lock_guard lock(fetched_mutex_);
      fetch_seconds_ += courier.seconds();
      fetched_bytes_ += courier.bytes();
    } catch (...) {
      queue_.fail(std::current_exception());
      throw;
    }
  }

  [[nodiscard]] engine::Tally tally() const override {
    engine::Tally tally(plan_.min_count, plan_.max_count);
    counter_->add_to(tally);
    return tally;
  }
  [[nodiscard]] std::vector<engine::StageReport> stages() const override {
    auto stages = feed_stages();
    const DeviceTimes times = counter_->times();
    const std::uint64_t bytes =
        times.words * (plan_.k <= kMaxShortWordK ? sizeof(SuperKmer<2>) : sizeof(SuperKmer<4>));
    stages.push_back({"cut", times.cut, stages.front().bytes});
    stages.push_back({"split", times.split, bytes});
    stages.push_back({"count", times.count, bytes});
    stages.push_back({"freeze", times.freeze, fetched_bytes_});
    stages.push_back({"copy to host", fetch_seconds_, fetched_bytes_});
    return stages;
  }
  [[nodiscard]] std::optional<double> overlap() const override {
    const DeviceTimes times = counter_->times();
    double busy = times.cut + times.split;
    for (const engine::StageReport& stage : feed_stages()) busy += stage.busy_seconds;
    return reading_seconds() > 0 ? std::optional(busy / reading_seconds()) : std::nullopt;
  }
  [[nodiscard]] std::uint64_t early_counts() const override { return counter_->early_counts(); }

 private:
  /// A thread's own way of fetching shards: "pin small, reuse".
  class Courier {
   public:
    void deliver(const ShardQueue::Item& item, const engine::ShardSink& sink) {
      const ShardPlan& plan = item.chunk->plans[item.number];
      const std::uint32_t shard = item.chunk->first_shard + item.number;
      frozen_.shape = plan.shape;
      frozen_.payload.clear();
      if (plan.shape.entries > 0) {
        const auto start = std::chrono::steady_clock::now();
        frozen_.payload.reserve(plan.layout.words + index::kReadAheadWords);
        check(cudaStreamWaitEvent(stream_, *item.chunk->ready), "ordering streams");
        for (std::uint64_t at = 0; at < plan.layout.words; at += kWords) {
          const std::uint64_t n = std::min<std::uint64_t>(kWords, plan.layout.words - at);
          copy_to_host(pinned_.data(), item.chunk->payload + plan.first_word + at, n, stream_);
          stream_.wait();
          frozen_.payload.insert(frozen_.payload.end(), pinned_.data(), pinned_.data() + n);
        }
        bytes_ += frozen_.payload.size() * sizeof frozen_.payload[0];
        seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      }
      sink(shard, std::move(frozen_));
    }

    [[nodiscard]] double seconds() const { return seconds_; }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

   private:
    static constexpr std::uint64_t kWords = std::uint64_t{1} << 17;
    index::FrozenShard frozen_;
    double seconds_ = 0;  ///< waiting for the device included
    std::uint64_t bytes_ = 0;
    Stream stream_;
    PinnedArray<unsigned long long> pinned_{kWords};
  };

  static DeviceCountPlan device_plan(const engine::CountPlan& plan) {
    DeviceCountPlan device;
    device.k = plan.k;
    device.canonical = plan.canonical;
    device.min_count = plan.min_count;
    device.max_count = plan.max_count;
    device.table = plan.table;
    device.memory_bytes = device_bytes_beside_feeds(plan, 0);
    device.expected_kmers = plan.input_bytes;
    return device;
  }

  TextCounter& counter() override { return *counter_; }

  /// Counts and freezes on the device, and hands shards out; helps to deliver them while it has to wait.
  void drive(const std::function<void(const ShardQueue::Item&)>& deliver) {
    counter_->finish([&](FrozenChunk&& chunk) { queue_.put(std::move(chunk)); },
                     [&](std::uint32_t first_shard) {
                       while (const auto item = queue_.try_take()) deliver(*item);
                       queue_.wait_for(first_shard);
                     });
    queue_.close();
  }

  std::unique_ptr<DeviceCounter> counter_;
  ShardQueue queue_;
  std::mutex fetched_mutex_;
  double fetch_seconds_ = 0;
  std::uint64_t fetched_bytes_ = 0;
};

}  // namespace

std::unique_ptr<engine::CountingSession> make_session(int gpu, const engine::CountPlan& plan) {
  if (plan.k <= kMaxDenseK) return std::make_unique<DenseSession>(gpu, plan);
  return std::make_unique<ShardedSession>(gpu, plan);
}

}  // namespace warpmer::gpu
