#include "cli/process.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "index/unfinished_outputs.h"

namespace warpmer::cli {
namespace {

constexpr int kHandledSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

/// Ends the process by `signal` with its default action; async-signal-safe.
void die_by(int signal) {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
  sigset_t just_this;
  sigemptyset(&just_this);
  sigaddset(&just_this, signal);
  raise(signal);
  pthread_sigmask(SIG_UNBLOCK, &just_this, nullptr);  // a handler runs with its own signal blocked
}

std::atomic_flag is_cleaning_up = ATOMIC_FLAG_INIT;

extern "C" void clean_up_and_die(int signal) {
  // Batch systems send several signals at once, and another thread may take the second one: the process must
  // not die of it while the first is removing files.
  while (is_cleaning_up.test_and_set()) pause();
  index::remove_unfinished_outputs();
  die_by(signal);
}

}  // namespace

void install_signal_handlers() {
  struct sigaction action = {};
  action.sa_handler = clean_up_and_die;
  sigemptyset(&action.sa_mask);
  for (const int signal : kHandledSignals) {
    sigaddset(&action.sa_mask, signal);
  }
  signal(SIGXFSZ, SIG_IGN);
  for (const int signal : kHandledSignals) {
    struct sigaction present = {};
    if (sigaction(signal, nullptr, &present) == 0 && present.sa_handler != SIG_IGN) {
      sigaction(signal, &action, nullptr);
    }
  }
}

void reserve_standard_streams() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) == -1) {
      // The wrong direction on purpose: reading from a closed stdin must fail, not see an empty file.
      open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY);
    }
  }
}

}  // namespace warpmer::cli
