#pragma once
/// Threads that are started one by one.

#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"

namespace warpmer {

/// Starts a thread. ResourceError when the system has no room for it; `does` completes "a thread that ...".
template <class Work>
std::thread start_thread(const std::string& does, Work&& work) {
  try {
    return std::thread(std::forward<Work>(work));
  } catch (const std::system_error& error) {
    throw ResourceError("cannot start a thread that " + does + ": " + error.what() + "; lower -t");
  }
}

}  // namespace warpmer
