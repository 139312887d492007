#pragma once
/// A register of temporary output files, so that a signal handler can remove them.

#include <csignal>
#include <string>
#include <vector>

namespace warpmer::file {

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

/// True when a file of this path is registered. Not async-signal-safe.
bool is_unfinished(const std::string& path) noexcept;

/// Unlinks every registered file, and removes folders that are empty then. Async-signal-safe: for the handler
/// of SIGINT and SIGTERM, which ends the process afterwards. Waits while a SignalsWait lives.
void remove_temp_files() noexcept;

/// While one lives, no signal stops what this thread does: its own are held back, and handlers that run on
/// others wait in `remove_temp_files`. For the moment in which several outputs get their names.
class SignalsWait {
 public:
  SignalsWait() noexcept;
  ~SignalsWait();
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;

 private:
  sigset_t before_;
};

/// Removes a temporary file, if it is there. One that cannot be removed is remembered.
void remove_temporary(const std::string& path) noexcept;

/// Returns a sentence for each temporary file that could not be removed since this was asked last, for a
/// caller that can tell the user.
std::vector<std::string> take_left_behind();

}  // namespace warpmer::file
