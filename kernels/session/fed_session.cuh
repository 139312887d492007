#pragma once
/// The common part of all sessions while reads come in: threads feed the GPUs in turn.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "backend/backend.h"
#include "kernels/memory/held_memory.cuh"
#include "kernels/session/batch_feed.cuh"
#include "kernels/session/memory_division.cuh"

namespace warpmer::gpu {

/// `Interface` is a backend::CountingSession, or what has more functions.
template <class Interface>
class FedSession : public Interface {
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
  FedSession(Peers& peers, const backend::CountPlan& plan)
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
  ~FedSession() override {
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

}  // namespace warpmer::gpu
