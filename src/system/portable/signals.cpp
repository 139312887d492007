#include "system/signals.h"

#include <csignal>

namespace warpmer::system {

bool take_signal(int signal) noexcept {
  sigset_t present, just_this;
  if (sigpending(&present) != 0 || sigismember(&present, signal) != 1) return false;
  sigemptyset(&just_this);
  sigaddset(&just_this, signal);
  int taken = 0;
  return sigwait(&just_this, &taken) == 0 && taken == signal;
}

}  // namespace warpmer::system
