#pragma once
/// The exit statuses of every command; `warpmer --help` and the man pages document them.

namespace warpmer::cli {

enum ExitStatus : int {
  kDone = 0,
  kNothingFound = 1,   ///< `query` or `locate --exit-status` found none of the k-mers that it was asked for
  kUsageError = 2,     ///< the command line is malformed or out of range
  kInputError = 3,     ///< an input is unreadable, corrupt or truncated
  kResourceError = 4,  ///< memory, disk or a device is exhausted or missing
  kInternalError = 5,  ///< a bug in warpmer
};

}  // namespace warpmer::cli
