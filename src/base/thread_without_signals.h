#pragma once
/// Threads that receive no signals: those are for the threads of the program that expects them.

#include <pthread.h>
#include <signal.h>

#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"

namespace warpmer {

/// Starts a thread. ResourceError when the system has no room for it; `purpose` completes "no thread ...
/// could be started".
template <class Function>
std::thread start_thread_without_signals(Function&& function,
                                         const char* purpose = "to compress or decompress with") {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread thread(std::forward<Function>(function));
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
  } catch (const std::system_error& error) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw ResourceError(std::string("no thread ") + purpose + " could be started (" + error.what() +
                        "); raise the limit on processes, or lower -t if it is above 1");
  }
}

}  // namespace warpmer
