#pragma once
/// Who may change a live table, or ask it, and who sees it at one moment.

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace warpmer::backend {

/// Any number pass side by side, or any number stop it. Who stops it waits for those that have passed to be
/// done, and no other passes. While somebody waits to pass, no stop begins, so that stops which follow one
/// another without end keep nobody away for ever. While there is a stop that is alone, others begin all the
/// same, because it may wait for them. A turn may be taken by one thread and end on another.
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
  /// Returns the number of the pass.
  std::uint64_t begin_pass(bool alone) {
    std::unique_lock lock(mutex_);
    ++waiting_;
    if (alone) {
      // Those that come later wait from now on, so that one after the other ends.
      moved_.wait(lock, [&] { return !is_for_one_; });
      is_for_one_ = true;
      moved_.wait(lock, [&] { return stops_ == 0 && passes_ == 0; });
    } else {
      moved_.wait(lock, [&] { return stops_ == 0 && !is_for_one_; });
    }
    const std::uint64_t number = ++begun_;
    only_ = ++passes_ == 1 ? number : 0;
    if (--waiting_ == 0) moved_.notify_all();
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
    moved_.wait(lock, [&] { return is_taken_ ? !alone : waiting_ == 0; });
    if (alone) is_taken_ = true;
    ++stops_;
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
  unsigned waiting_ = 0;     ///< who wait to pass
  bool is_for_one_ = false;  ///< one passes alone, or waits to
  bool is_taken_ = false;    ///< there is a stop that is alone
};

}  // namespace warpmer::backend
