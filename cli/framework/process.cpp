#include "cli/framework/process.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <string>

#include "base/error.h"
#include "cli/framework/exit_status.h"
#include "file/mapped_inputs.h"
#include "file/output/temp_file_registry.h"
#include "system/descriptors.h"

namespace warpmer::cli {
namespace {

/// Batch systems can be told to send SIGUSR1 or SIGUSR2 before a job's time is over, and send SIGXCPU after.
constexpr int kHandledSignals[] = {SIGINT,  SIGTERM, SIGHUP,  SIGPIPE, SIGQUIT,
                                   SIGUSR1, SIGUSR2, SIGXCPU, SIGALRM, SIGVTALRM};

/// Ends the process by `signal` with its default action, as which the first process of a container, which no
/// signal ends, ends with the status that shells give it; async-signal-safe.
[[noreturn]] void die_by(int signal) {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
  sigset_t just_this;
  sigemptyset(&just_this);
  sigaddset(&just_this, signal);
  raise(signal);
  pthread_sigmask(SIG_UNBLOCK, &just_this, nullptr);  // a handler runs with its own signal blocked
  _exit(128 + signal);
}

std::atomic_flag is_cleaning_up = ATOMIC_FLAG_INIT;

extern "C" void clean_up_and_die(int signal) {
  // Batch systems send several signals at once, and another thread may take the second one: the process must
  // not die of it while the first is removing files.
  while (is_cleaning_up.test_and_set()) pause();
  file::remove_temp_files();
  die_by(signal);
}

/// Prints a line on stderr, without using memory that other code owns: for signal handlers.
class SignalMessage {
 public:
  SignalMessage& operator<<(const char* text) {
    for (; *text != '\0' && size_ + 1 < sizeof text_; ++text) {
      const auto byte = static_cast<unsigned char>(*text);
      text_[size_++] = byte < 0x20 || byte == 0x7f ? ' ' : *text;
    }
    return *this;
  }
  void print() {
    text_[size_++] = '\n';
    for (std::size_t at = 0; at < size_;) {
      const ssize_t n = write(STDERR_FILENO, text_ + at, size_ - at);
      if (n <= 0) return;
      at += static_cast<std::size_t>(n);
    }
  }

 private:
  char text_[PATH_MAX + 512];
  std::size_t size_ = 0;
};

/// A page of a mapped input is not there any more, or its disk has failed (SIGBUS); or it was written over
/// after it was checked, and led somewhere else (SIGSEGV). What is in the middle of using it cannot go on, on
/// whatever thread it is.
struct sigaction segv_before = {};

/// True when another process, or this one, sent a signal, and no instruction caused it.
bool is_sent(const siginfo_t& info) {
  return info.si_code <= 0 || info.si_code == SI_USER || info.si_code == SI_QUEUE;
}

extern "C" void end_for_lost_input(int signal, siginfo_t* info, void* /*context*/) {
  const bool is_fault = !is_sent(*info);
  auto fault = is_fault ? file::MappedInputs::fault_at(info->si_addr) : file::MappedInputs::Fault{};
  if (is_fault && signal == SIGSEGV) fault = file::MappedInputs::written_input();
  if (fault.name == nullptr && signal == SIGSEGV) {
    // It comes again, and is for whom it was before: nobody, or a sanitizer.
    sigaction(SIGSEGV, &segv_before, nullptr);
    if (!is_fault) raise(signal);
    return;
  }
  if (fault.name == nullptr) clean_up_and_die(signal);
  while (is_cleaning_up.test_and_set()) pause();
  file::remove_temp_files();
  SignalMessage line;
  line << "warpmer: error: " << fault.name << fault.what;
  line.print();
  _exit(kInputError);
}

constexpr int kStopSignals[] = {SIGINT, SIGTERM, SIGHUP};
volatile std::sig_atomic_t stop_pipe = -1;
volatile std::sig_atomic_t is_stopping = 0;

/// Sets the handler of a signal that is not ignored; async-signal-safe.
void handle(int signal, void (*handler)(int), int flags = 0) {
  struct sigaction action = {}, present = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  for (const int other : kHandledSignals) sigaddset(&action.sa_mask, other);
  if (sigaction(signal, nullptr, &present) == 0 && present.sa_handler != SIG_IGN)
    sigaction(signal, &action, nullptr);
}

extern "C" void pass_over(int /*signal*/) {}

extern "C" void note_stop(int /*signal*/) {
  const int error = errno;
  const char byte = 0;
  static_cast<void>(!write(stop_pipe, &byte, sizeof byte));
  is_stopping = 1;
  for (const int signal : kStopSignals) handle(signal, pass_over, SA_RESTART);
  handle(SIGINT, clean_up_and_die);
  errno = error;
}

}  // namespace

void install_signal_handlers() {
  struct sigaction on_fault = {};
  sigemptyset(&on_fault.sa_mask);
  for (const int signal : kHandledSignals) {
    handle(signal, clean_up_and_die);
    sigaddset(&on_fault.sa_mask, signal);
  }
  signal(SIGXFSZ, SIG_IGN);
  on_fault.sa_sigaction = end_for_lost_input;
  on_fault.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &on_fault, nullptr);
  sigaction(SIGSEGV, &on_fault, &segv_before);
}

StopSignals::StopSignals() {
  if (const int error = system::make_pipe(pipe_, true); error != 0)
    throw ResourceError("cannot wait for signals: " + std::string(std::strerror(error)));
  stop_pipe = pipe_[1];
  is_stopping = 0;
  for (const int signal : kStopSignals) handle(signal, note_stop);
  std::signal(SIGPIPE, SIG_IGN);
}

/// A process that was told to stop is about to end, and goes on passing over what it is told again.
StopSignals::~StopSignals() {
  if (is_stopping == 0) {
    for (const int signal : kStopSignals) handle(signal, clean_up_and_die);
  }
  stop_pipe = -1;
  close(pipe_[0]);
  close(pipe_[1]);
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
