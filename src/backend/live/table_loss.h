#pragma once
/// The end of a live table, when nobody can say any more what is in it.

#include <exception>
#include <mutex>
#include <string>

#include "base/error.h"

namespace warpmer::backend {

/// The end of a live table, if it has come, and why. Thread-safe.
class TableLoss {
 public:
  /// Throws a ResourceError that says why, if the table is lost.
  void check() const {
    const std::lock_guard lock(mutex_);
    if (!why_.empty()) throw ResourceError(why_);
  }
  /// Does what cannot be taken back when it is half done: an error is the end of the table.
  template <class Work>
  void guard(Work&& work) {
    check();
    try {
      work();
    } catch (const std::exception& error) {
      lose(error);
    }
  }
  /// Ends the table, and throws the ResourceError that says so.
  [[noreturn]] void lose(const std::exception& error) {
    const std::lock_guard lock(mutex_);
    if (why_.empty()) {
      why_ =
          std::string("the live table is lost, because a change of it was left half made: ") + error.what();
    }
    throw ResourceError(why_);
  }

 private:
  mutable std::mutex mutex_;  ///< guards what follows
  std::string why_;
};

}  // namespace warpmer::backend
