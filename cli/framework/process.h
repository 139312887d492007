#pragma once
/// Sets up the process around the program: signals and standard streams.

namespace warpmer::cli {

/// SIGINT, SIGTERM, SIGHUP and SIGPIPE remove unfinished outputs, then end the process as they would have
/// without us. Signals that the parent process ignores stay ignored. SIGBUS from a mapped input that cannot
/// be read any more ends the process with a message and the status of input errors. A limit on file sizes is
/// an error of the write, and no signal.
void install_signal_handlers();

/// Occupies descriptors 0, 1 and 2 if they came closed, so that no output file lands on one of them
/// and receives another stream's text; using them still fails.
void reserve_standard_streams();

}  // namespace warpmer::cli
