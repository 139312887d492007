#pragma once
/// The errors that warpmer throws: four kinds, all of them derived from `warpmer::Error`.

#include <stdexcept>
#include <string>

/// Marks what the shared library exports.
#if defined(__GNUC__)
#define WARPMER_PUBLIC __attribute__((visibility("default")))
#else
#define WARPMER_PUBLIC
#endif

namespace warpmer {

/// The kind of an error, in the terms a user can act on. The program maps each kind to one exit status.
enum class ErrorKind {
  usage,     ///< the request is malformed or out of range: exit 2
  input,     ///< an input is unreadable, corrupt or truncated: exit 3
  resource,  ///< memory, disk or a device is exhausted or missing: exit 4
  internal,  ///< a bug in warpmer: exit 5
};

/// One clear sentence: what is wrong, where, and what to do about it.
class WARPMER_PUBLIC Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

struct WARPMER_PUBLIC UsageError : Error {
  explicit UsageError(const std::string& message) : Error(ErrorKind::usage, message) {}
};
struct WARPMER_PUBLIC InputError : Error {
  explicit InputError(const std::string& message) : Error(ErrorKind::input, message) {}
};
struct WARPMER_PUBLIC ResourceError : Error {
  explicit ResourceError(const std::string& message) : Error(ErrorKind::resource, message) {}
};
struct WARPMER_PUBLIC InternalError : Error {
  explicit InternalError(const std::string& message) : Error(ErrorKind::internal, message) {}
};

}  // namespace warpmer
