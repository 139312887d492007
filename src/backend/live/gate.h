#pragma once
/// Who may change a live table, or ask it, and who sees it at one moment.

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>

namespace warpmer::backend {

/// Any number pass side by side, or any number stop it. Who stops it waits for those that have passed to be
/// done, and no other passes. A stop and who waits to pass begin in the order in which they came, so that
/// neither keeps the other away for ever. While there is a stop that is alone, others begin all the same,
/// because it may wait for them. A turn may be taken by one thread and end on another.
class Gate {
 public:
  /// Who passes `alone` waits for those that have passed before, and no other passes meanwhile.
  class Pass {
   public:
    explicit Pass(Gate& gate, bool alone = false)
        : gate_(gate), alone_(alone), number_(gate_.begin_pass(alone)) {}
    ~Pass() { gate_.end_pass(alone_); }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

    /// False when another has passed since this one began, or had passed before and was not done.
    [[nodiscard]] bool was_alone() const { return gate_.only_pass() == number_; }

   private:
    Gate& gate_;
    const bool alone_;
    const std::uint64_t number_;
  };
  /// Of those that are `alone`, one exists at a time.
  class Stop {
   public:
    explicit Stop(Gate& gate, bool alone = false) : gate_(gate), alone_(alone) { gate_.begin_stop(alone); }
    ~Stop() { gate_.end_stop(alone_); }
    Stop(const Stop&) = delete;
    Stop& operator=(const Stop&) = delete;

   private:
    Gate& gate_;
    const bool alone_;
  };

 private:
  using Queue = std::set<std::uint64_t>;  ///< numbers of those that wait, in the order in which they came

  static bool is_before(const Queue& others, std::uint64_t mine) {
    return others.empty() || mine < *others.begin();
  }
  /// Returns the number of the pass.
  std::uint64_t begin_pass(bool alone) {
    std::unique_lock lock(mutex_);
    const auto mine = waiting_passes_.insert(++come_).first;
    const auto is_next = [&] { return !is_for_one_ && is_before(waiting_stops_, *mine); };
    if (alone) {
      // Other passes wait from now on, so that one after the other ends.
      moved_.wait(lock, is_next);
      is_for_one_ = true;
      moved_.wait(lock, [&] { return stops_ == 0 && passes_ == 0; });
    } else {
      moved_.wait(lock, [&] { return stops_ == 0 && is_next(); });
    }
    waiting_passes_.erase(mine);
    const std::uint64_t number = ++begun_;
    only_ = ++passes_ == 1 ? number : 0;
    if (!waiting_stops_.empty()) moved_.notify_all();
    return number;
  }
  [[nodiscard]] std::uint64_t only_pass() {
    const std::lock_guard lock(mutex_);
    return only_;
  }
  void end_pass(bool alone) {
    const std::lock_guard lock(mutex_);
    if (alone) is_for_one_ = false;
    if (--passes_ == 0) moved_.notify_all();
  }
  void begin_stop(bool alone) {
    std::unique_lock lock(mutex_);
    const auto mine = waiting_stops_.insert(++come_).first;
    moved_.wait(lock, [&] { return is_taken_ ? !alone : is_before(waiting_passes_, *mine); });
    waiting_stops_.erase(mine);
    ++stops_;
    if (alone) {
      is_taken_ = true;
      moved_.notify_all();  // other stops need not wait any more
    }
    moved_.wait(lock, [&] { return passes_ == 0; });
  }
  void end_stop(bool alone) {
    const std::lock_guard lock(mutex_);
    if (alone) is_taken_ = false;
    --stops_;
    moved_.notify_all();
  }

  std::mutex mutex_;  ///< guards what follows
  std::condition_variable moved_;
  unsigned passes_ = 0, stops_ = 0;
  std::uint64_t begun_ = 0;  ///< passes, of all times
  std::uint64_t only_ = 0;   ///< the last pass that began, if it was the only one then; else 0
  std::uint64_t come_ = 0;   ///< who have come to pass or to stop, of all times
  Queue waiting_passes_, waiting_stops_;
  bool is_for_one_ = false;  ///< one passes alone, or waits to
  bool is_taken_ = false;    ///< there is a stop that is alone
};

}  // namespace warpmer::backend
