#pragma once
/// Children that do not all fit a device, and many callers each of which has a question for all of them
/// (Starfish: Xiong et al. 2022, section 4.2.2: queries stay on the device, and the children rotate through).
/// The children keep rotating as long as there are questions: one that comes is asked of the children that
/// are there, then of each that comes, until it has been asked of all. So no caller waits for a round to
/// begin, and a child that comes serves all questions there are.
///
/// ChildPager (table/child_pager.h) decides which child comes next, and counts. `Device` says what a question
/// is, and how children are loaded and asked:
///
///     using Question = ...;                 // a caller's, which waits for its end
///     void begin();                         // on the rotation's thread, before all others
///     void load(child, frame);              // over the child there, of which nothing more is asked
///     void ask(child, frame, questions);    // a vector of pointers; may only start it
///     void finish(question);                // it has been asked of all
///
/// All are called on one thread, and what they throw ends all that waits.

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/error.h"
#include "table/child_pager.h"

namespace warpmer::backend {

template <class Device>
class ShardRotation {
 public:
  using Question = typename Device::Question;

  /// `child_bytes`: of each child. `device` outlives the rotation.
  ShardRotation(Device& device, std::uint32_t frames, const std::vector<std::uint64_t>& child_bytes)
      : device_(device), children_(static_cast<std::uint32_t>(child_bytes.size())), pager_(frames) {
    for (std::uint32_t child = 0; child < children_; ++child) pager_.add(child, child_bytes[child], true);
    thread_ = std::thread([this] { run(); });
  }
  /// Ends the thread. No caller may wait for an answer.
  ~ShardRotation() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }

  /// Asks all children, and returns when `finish` has been called; or throws what the device has thrown. Any
  /// number of threads may call it at once. `size` is that of the question, in any unit.
  void ask(Question& question, std::uint64_t size) {
    Waiting mine{&question, size, std::vector<bool>(children_), children_, false};
    std::unique_lock lock(mutex_);
    if (!failure_) {
      new_.push_back(&mine);
      changed_.notify_all();
      changed_.wait(lock, [&] { return mine.is_over || failure_; });
    }
    if (failure_) std::rethrow_exception(failure_);
  }

  /// All that wait, and all that will come, end soon, by an InternalError.
  void cancel() noexcept {
    const std::lock_guard lock(mutex_);
    is_cancelled_ = true;
    changed_.notify_all();
  }

  /// Has all that was done for the questions that are over.
  [[nodiscard]] table::PagingCounts counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

 private:
  /// A question under way.
  struct Waiting {
    Question* question;
    std::uint64_t size;
    std::vector<bool> was_asked;  ///< by child
    std::uint32_t left;           ///< children
    bool is_over;
  };

  void run() {
    try {
      device_.begin();
      while (take_new()) {
        ask_all_there();
        if (!waiting_.empty()) bring_next();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
      changed_.notify_all();
    }
  }

  /// Waits for something to do; false: there will be nothing more.
  bool take_new() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_over_ || is_cancelled_ || !new_.empty() || !waiting_.empty(); });
    if (is_cancelled_) throw InternalError("stopped because another thread failed");
    waiting_.insert(waiting_.end(), new_.begin(), new_.end());
    new_.clear();
    return !is_over_;
  }

  void ask_all_there() {
    for (std::uint32_t frame = 0; frame < pager_.frames(); ++frame) {
      const std::uint32_t child = pager_.child_in(frame);
      if (child != table::ChildPager::kNone) ask_all(child, frame, true);
    }
    const auto over =
        std::partition(waiting_.begin(), waiting_.end(), [](const Waiting* one) { return one->left > 0; });
    std::for_each(over, waiting_.end(), [&](Waiting* one) { device_.finish(*one->question); });
    const std::lock_guard lock(mutex_);
    counts_ = pager_.counts();
    std::for_each(over, waiting_.end(), [](Waiting* one) { one->is_over = true; });
    waiting_.erase(over, waiting_.end());
    changed_.notify_all();
  }
  void ask_all(std::uint32_t child, std::uint32_t frame, bool was_there) {
    asked_.clear();
    for (Waiting* const one : waiting_) {
      if (one->was_asked[child]) continue;
      asked_.push_back(one->question);
      one->was_asked[child] = true;
      --one->left;
    }
    if (asked_.empty()) return;
    device_.ask(child, frame, asked_);
    pager_.served(child, was_there);
  }

  /// All that are there have been asked.
  void bring_next() {
    for (std::uint32_t child = 0; child < children_; ++child) {
      std::uint64_t work = 0;
      for (const Waiting* const one : waiting_) work += one->was_asked[child] ? 0 : one->size;
      pager_.set_work(child, work);
    }
    const table::ChildPager::Visit visit = *pager_.next();
    pager_.leave(visit.frame);
    device_.load(visit.child, visit.frame);
    pager_.enter(visit.child, visit.frame);
    ask_all(visit.child, visit.frame, false);
  }

  Device& device_;
  std::uint32_t children_;
  table::ChildPager pager_;  ///< belongs to the rotation's thread, as does `waiting_`
  std::vector<Waiting*> waiting_;
  std::vector<Question*> asked_;  ///< together
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Waiting*> new_;
  bool is_over_ = false;
  bool is_cancelled_ = false;
  std::exception_ptr failure_;
  table::PagingCounts counts_;
  std::thread thread_;
};

}  // namespace warpmer::backend
