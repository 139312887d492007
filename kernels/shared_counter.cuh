#pragma once
/// The counter that all feeds of a GPU share.

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>

#include "device_counter.cuh"

namespace warpmer::gpu {

/// One thread at a time has the counter. Who finds it taken, and only has something to enqueue, leaves that
/// to the thread that has it, and goes on. (Sixteen threads that sleep until the one before has enqueued its
/// text, which takes 50 us, are woken one after the other, which takes as long again, and reading with it:
/// half of its time. Flat combining: Hendler, Incze, Shavit, Tzafrir, SPAA 2010.) Thread-safe.
class SharedCounter {
 public:
  /// Something to be enqueued in the counter's stream, with its GPU current. One at a time of an owner, who
  /// waits for it.
  class Task {
   public:
    virtual ~Task() = default;

   private:
    friend class SharedCounter;
    virtual void enqueue(TextCounter& counter) = 0;

    std::atomic<bool> is_over_{true};
    std::exception_ptr failure_;
  };

  explicit SharedCounter(TextCounter& counter) : counter_(counter) {}

  /// For who has it.
  [[nodiscard]] TextCounter& counter() const { return counter_; }

  /// Enqueues a task, or sees to it that somebody does so soon.
  void add(Task& task) {
    task.is_over_ = false;
    {
      const std::lock_guard lock(waiting_mutex_);
      waiting_.push_back(&task);
    }
    enqueue_waiting();
  }
  /// Returns when a task has been enqueued. Throws what that has thrown.
  void wait_for(Task& task) {
    if (!task.is_over_) alone([&] { enqueue_all(); });
    if (task.failure_) std::rethrow_exception(std::exchange(task.failure_, nullptr));
  }
  /// Calls `work`, which may take its time, while nobody else has the counter.
  template <class Work>
  void alone(Work&& work) {
    {
      const std::lock_guard turn(turn_);
      work();
    }
    enqueue_waiting();  // what others have left meanwhile
  }
  /// For who has the counter: makes room for more, unless that has been done since `rooms_made` was so many.
  /// (To find out that there is room takes as long as to wait for the device.)
  void make_room(std::uint64_t made) {
    if (made != rooms_made_) return;
    counter_.make_room();
    ++rooms_made_;
  }
  [[nodiscard]] std::uint64_t rooms_made() const { return rooms_made_; }

 private:
  /// Until nothing waits, or somebody else has the counter, who looks again before he goes.
  void enqueue_waiting() {
    while (is_any_waiting()) {
      const std::unique_lock turn(turn_, std::try_to_lock);
      if (!turn) return;
      enqueue_all();
    }
  }
  void enqueue_all() {
    while (Task* const task = next()) {
      try {
        task->enqueue(counter_);
      } catch (...) {
        task->failure_ = std::current_exception();
      }
      task->is_over_ = true;
    }
  }
  [[nodiscard]] bool is_any_waiting() {
    const std::lock_guard lock(waiting_mutex_);
    return !waiting_.empty();
  }
  Task* next() {
    const std::lock_guard lock(waiting_mutex_);
    if (waiting_.empty()) return nullptr;
    Task* const task = waiting_.front();
    waiting_.pop_front();
    return task;
  }

  TextCounter& counter_;
  std::uint64_t rooms_made_ = 0;
  std::mutex turn_;  ///< who has it, has the counter
  std::mutex waiting_mutex_;
  std::deque<Task*> waiting_;
};

}  // namespace warpmer::gpu
