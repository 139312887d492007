#pragma once
/// Sets up the process around the program: signals and standard streams.

namespace warpmer::cli {

/// Signals that end a process, SIGINT, SIGTERM, SIGHUP, SIGPIPE and those of batch systems and limits, remove
/// unfinished outputs, then end the process as they would have without us. Signals that the parent process
/// ignores stay ignored. SIGBUS from a mapped input that cannot be read any more, and SIGSEGV when one has
/// been written over, end the process with a message and the status of input errors. A limit on file sizes is
/// an error of the write, and no signal.
void install_signal_handlers();

/// While it lives, SIGINT, SIGTERM or SIGHUP does not end the process but makes a descriptor readable: for
/// who has something to finish. After the first, SIGINT ends the process, for the user who presses Ctrl-C
/// again. The others are ignored then: Slurm sends a task of `srun` SIGTERM twice, some milliseconds apart,
/// and SIGKILL when its patience ends. SIGPIPE is ignored from the beginning: an output that nobody reads is
/// an error of the write. One lives at a time.
class StopSignals {
 public:
  /// ResourceError where there are no descriptors.
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  [[nodiscard]] int descriptor() const { return pipe_[0]; }

 private:
  int pipe_[2] = {-1, -1};
};

/// Occupies descriptors 0, 1 and 2 if they came closed, so that no output file lands on one of them
/// and receives another stream's text; using them still fails.
void reserve_standard_streams();

}  // namespace warpmer::cli
