#include "system/signals.h"

#include <csignal>
#include <ctime>

namespace warpmer::system {

bool take_signal(int signal) noexcept {
  sigset_t just_this;
  sigemptyset(&just_this);
  sigaddset(&just_this, signal);
  const timespec now{};
  return sigtimedwait(&just_this, nullptr, &now) == signal;
}

}  // namespace warpmer::system
