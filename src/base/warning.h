#pragma once
/// Warnings: what is no error, but what the user should know. Any layer tells; only `cli` prints.

#include <functional>
#include <string>
#include <utility>

namespace warpmer {

/// Is called with one sentence, from any thread. It may throw, as `cli` does where warnings are to be errors.
using WarningListener = std::function<void(const std::string& message)>;

namespace warning_detail {
inline WarningListener listener;
}  // namespace warning_detail

/// Sets the function that listens from now on; an empty one for none. To be called while no other thread may
/// warn. Returns the one that listened before.
inline WarningListener listen_for_warnings(WarningListener listener) {
  return std::exchange(warning_detail::listener, std::move(listener));
}

/// Tells one clear sentence: what is odd, where, and what to do about it. Throws what the listener throws: so
/// it is called where an error may be thrown, and before the output gets its name, since with `--strict` a
/// warning is an InputError and leaves no output behind. Of several ranks only one should warn of what all
/// know.
inline void warn(const std::string& message) {
  if (warning_detail::listener) warning_detail::listener(message);
}

}  // namespace warpmer
