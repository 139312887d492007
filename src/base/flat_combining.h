#pragma once
/// Something that many threads have small things to do with, one at a time.

#include <atomic>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>

namespace warpmer {

/// One thread at a time has the resource. A thread that finds it taken, and only has something short to do
/// with it, leaves that to the thread that has it, and goes on: threads that sleep until the one before is
/// done are woken one after the other, which takes longer than what they are waiting for. (Flat combining:
/// Hendler, Incze, Shavit, Tzafrir, SPAA 2010.) Thread-safe.
template <class Resource>
class FlatCombining {
 public:
  /// Something short to be done. An owner adds one at a time, and waits for it.
  class Task {
   public:
    virtual ~Task() = default;

   private:
    friend class FlatCombining;
    virtual void run(Resource& resource) = 0;

    std::atomic<bool> is_over_{true};
    std::exception_ptr failure_;
  };

  explicit FlatCombining(Resource& resource) : resource_(resource) {}

  /// Returns the resource, for the thread that has it.
  [[nodiscard]] Resource& resource() const { return resource_; }

  /// Does a task, or sees to it that another thread does so soon.
  void add(Task& task) {
    task.is_over_ = false;
    {
      const std::lock_guard lock(waiting_mutex_);
      waiting_.push_back(&task);
    }
    run_waiting();
  }
  /// Returns when a task has been done. Throws what that has thrown.
  void wait_for(Task& task) {
    if (!task.is_over_) alone([&] { run_all(); });
    if (task.failure_) std::rethrow_exception(std::exchange(task.failure_, nullptr));
  }
  /// Calls `work`, which may take its time, while no other thread has the resource.
  template <class Work>
  void alone(Work&& work) {
    {
      const std::lock_guard turn(turn_);
      work();
    }
    run_waiting();  // what others have left meanwhile
  }

 private:
  /// Runs tasks until none waits, or until another thread has the resource, which looks again before it goes.
  void run_waiting() {
    while (is_any_waiting()) {
      const std::unique_lock turn(turn_, std::try_to_lock);
      if (!turn) return;
      run_all();
    }
  }
  void run_all() {
    while (Task* const task = next()) {
      try {
        task->run(resource_);
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

  Resource& resource_;
  std::mutex turn_;  ///< held by the thread that has the resource
  std::mutex waiting_mutex_;
  std::deque<Task*> waiting_;
};

}  // namespace warpmer
