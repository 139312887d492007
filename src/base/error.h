#pragma once
/// Typed errors. Library code throws them; only `cli` prints them and turns them into exit codes.

#include <stdexcept>
#include <string>

namespace warpmer {

/// What went wrong, in the terms a user can act on. `cli` maps each kind to one exit code.
enum class ErrorKind {
  usage,     ///< the request is malformed or out of range: exit 2
  input,     ///< an input is unreadable, corrupt or truncated: exit 3
  resource,  ///< memory, disk or a device is exhausted or missing: exit 4
  internal,  ///< a bug in warpmer: exit 5
};

/// One clear sentence: what is wrong, where, and what to do about it.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

struct UsageError : Error {
  explicit UsageError(const std::string& message) : Error(ErrorKind::usage, message) {}
};
struct InputError : Error {
  explicit InputError(const std::string& message) : Error(ErrorKind::input, message) {}
};
struct ResourceError : Error {
  explicit ResourceError(const std::string& message) : Error(ErrorKind::resource, message) {}
};
struct InternalError : Error {
  explicit InternalError(const std::string& message) : Error(ErrorKind::internal, message) {}
};

}  // namespace warpmer
