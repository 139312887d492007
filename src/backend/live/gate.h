#pragma once
/// Who may change a live table, and who sees it at one moment.

#include <condition_variable>
#include <mutex>

namespace warpmer::backend {

/// Any number change it side by side, or any number view it. Who views it waits for changes that have begun,
/// and no other begins. A turn may be taken by one thread and end on another.
class UpdateGate {
 public:
  class Change {
   public:
    explicit Change(UpdateGate& gate) : gate_(gate) { gate_.begin_change(); }
    ~Change() { gate_.end_change(); }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

   private:
    UpdateGate& gate_;
  };
  /// Of those that are `alone`, one exists at a time.
  class WholeView {
   public:
    explicit WholeView(UpdateGate& gate, bool alone = false) : gate_(gate), alone_(alone) {
      gate_.begin_view(alone);
    }
    ~WholeView() { gate_.end_view(alone_); }
    WholeView(const WholeView&) = delete;
    WholeView& operator=(const WholeView&) = delete;

   private:
    UpdateGate& gate_;
    const bool alone_;
  };

 private:
  void begin_change() {
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return views_ == 0; });
    ++changes_;
  }
  void end_change() {
    const std::lock_guard lock(mutex_);
    if (--changes_ == 0) moved_.notify_all();
  }
  void begin_view(bool alone) {
    std::unique_lock lock(mutex_);
    if (alone) {
      moved_.wait(lock, [&] { return !is_taken_; });
      is_taken_ = true;
    }
    ++views_;
    moved_.wait(lock, [&] { return changes_ == 0; });
  }
  void end_view(bool alone) {
    const std::lock_guard lock(mutex_);
    if (alone) is_taken_ = false;
    --views_;
    moved_.notify_all();
  }

  std::mutex mutex_;  ///< guards what follows
  std::condition_variable moved_;
  unsigned changes_ = 0, views_ = 0;
  bool is_taken_ = false;  ///< there is a view that is alone
};

}  // namespace warpmer::backend
