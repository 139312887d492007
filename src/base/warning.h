#pragma once
/// Warnings: what is no error, but what the user should know. Any layer tells; only `cli` prints.

#include <functional>
#include <string>
#include <utility>

namespace warpmer {

/// Is called with one sentence. It may throw, as that of `cli` does where warnings are to be errors.
using WarningHandler = std::function<void(const std::string& message)>;

namespace warning_detail {
inline WarningHandler of_process;
inline constinit thread_local const WarningHandler* of_thread = nullptr;
}  // namespace warning_detail

/// Sets the handler of the process, which all threads call from now on, several at once; an empty one for
/// none. To be called while no other thread may warn. Returns the one before.
inline WarningHandler listen_for_warnings(WarningHandler handler) {
  return std::exchange(warning_detail::of_process, std::move(handler));
}

/// While it lives, the thread that made it calls its handler, and not that of the process: so each of several
/// jobs in one process has its own. Jobs warn on the thread that runs them; but only the program has live
/// tables that outgrow their memory, and readers that leave out a cut record: they warn on whatever thread
/// meets that.
class ThreadWarnings {
 public:
  explicit ThreadWarnings(WarningHandler handler)
      : handler_(std::move(handler)), before_(std::exchange(warning_detail::of_thread, &handler_)) {}
  ~ThreadWarnings() { warning_detail::of_thread = before_; }
  ThreadWarnings(const ThreadWarnings&) = delete;
  ThreadWarnings& operator=(const ThreadWarnings&) = delete;

 private:
  const WarningHandler handler_;
  const WarningHandler* const before_;
};

/// Tells one clear sentence: what is odd, where, and what to do about it. Throws what the handler throws: so
/// it is called where an error may be thrown, and before the output gets its name, since with `--strict` a
/// warning is an InputError and leaves no output behind. Of several ranks only one should warn of what all
/// know.
inline void warn(const std::string& message) {
  if (warning_detail::of_thread != nullptr) {
    (*warning_detail::of_thread)(message);
  } else if (warning_detail::of_process) {
    warning_detail::of_process(message);
  }
}

}  // namespace warpmer
