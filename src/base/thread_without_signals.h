#pragma once
/// Threads that receive no signals: those are for the threads of the program that expects them.

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>

#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"

namespace warpmer {

template <class Function>
std::thread start_thread_without_signals(Function&& function) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread thread(std::forward<Function>(function));
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
  } catch (const std::system_error& error) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw ResourceError(
        fmt::format("no thread to compress or decompress with could be started ({}); raise the limit on "
                    "processes, or lower -t if it is above 1",
                    error.what()));
  }
}

}  // namespace warpmer
