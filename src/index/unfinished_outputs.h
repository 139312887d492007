#pragma once
/// A register of temporary output files, so that a signal handler can remove them.

#include <string>

namespace warpmer::index {

/// Keeps a path in the register for as long as it lives. Registering cannot fail: when the register
/// is full or the path too long, the file is merely not removed by a signal.
class UnfinishedOutput {
 public:
  explicit UnfinishedOutput(const std::string& path) noexcept;
  ~UnfinishedOutput();
  UnfinishedOutput(const UnfinishedOutput&) = delete;
  UnfinishedOutput& operator=(const UnfinishedOutput&) = delete;

 private:
  int slot_;
};

/// Unlinks every registered file. Async-signal-safe: for the handler of SIGINT and SIGTERM, which
/// ends the process afterwards.
void remove_unfinished_outputs() noexcept;

}  // namespace warpmer::index
