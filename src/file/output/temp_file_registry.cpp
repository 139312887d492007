#include "file/output/temp_file_registry.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <mutex>
#include <utility>

namespace warpmer::file {
namespace {

enum class PathState : int { free, busy, armed };

/// A handler may interrupt any thread at any instruction, so a slot's path is only read or written by the
/// thread that moved its state to `busy`.
struct PathSlot {
  std::atomic<PathState> state{PathState::free};
  std::array<char, PATH_MAX> path{};
};
static_assert(std::atomic<PathState>::is_always_lock_free);

/// A table of FastK has up to three files a thread; on NFS each has a name while it is written.
constexpr int kSlots = 128;
constinit std::array<PathSlot, kSlots> slots{};

constinit std::atomic<int> waits{0};  ///< number of objects that let signals wait
static_assert(std::atomic<int>::is_always_lock_free);

struct LeftBehind {
  std::mutex mutex;
  std::vector<std::string> sentences;
};
LeftBehind& left_behind() {
  static LeftBehind all;
  return all;
}

/// Removes what `remove_one` can, and leaves folders in the register to the call that removes them.
void remove_all(int (*remove_one)(const char*)) noexcept {
  for (PathSlot& slot : slots) {
    PathState expected = PathState::armed;
    if (!slot.state.compare_exchange_strong(expected, PathState::busy)) continue;
    const bool is_folder = remove_one(slot.path.data()) != 0 && (errno == EISDIR || errno == EPERM);
    slot.state.store(is_folder ? PathState::armed : PathState::free);
  }
}

}  // namespace

UnfinishedOutput::UnfinishedOutput(const std::string& path) noexcept : slot_(-1) {
  if (path.size() >= PATH_MAX) return;
  for (int i = 0; i < kSlots; ++i) {
    PathSlot& slot = slots[static_cast<std::size_t>(i)];
    PathState expected = PathState::free;
    if (!slot.state.compare_exchange_strong(expected, PathState::busy)) continue;
    std::memcpy(slot.path.data(), path.c_str(), path.size() + 1);
    slot.state.store(PathState::armed);
    slot_ = i;
    return;
  }
}

UnfinishedOutput::~UnfinishedOutput() {
  if (slot_ < 0) return;
  // A slot that a handler has just taken is the handler's to free.
  PathState expected = PathState::armed;
  slots[static_cast<std::size_t>(slot_)].state.compare_exchange_strong(expected, PathState::free);
}

bool is_unfinished(const std::string& path) noexcept {
  const SignalsWait wait;  // a handler would pass over the file that is being looked at
  bool is_found = false;
  for (PathSlot& slot : slots) {
    PathState expected = PathState::armed;
    if (is_found || !slot.state.compare_exchange_strong(expected, PathState::busy)) continue;
    is_found = path == slot.path.data();
    slot.state.store(PathState::armed);
  }
  return is_found;
}

void remove_temp_files() noexcept {
  const int saved_errno = errno;
  while (waits != 0) {  // a signal handler may not wait for a lock or a condition
    const timespec a_little{0, 1'000'000};
    ::nanosleep(&a_little, nullptr);
  }
  remove_all(&::unlink);
  remove_all(&::rmdir);  // of folders, which are empty now
  errno = saved_errno;
}

SignalsWait::SignalsWait() noexcept : before_{} {
  // First this thread's: its handler would wait for itself.
  sigset_t all;
  sigfillset(&all);  // a macro in some systems
  ::pthread_sigmask(SIG_BLOCK, &all, &before_);
  ++waits;
}

SignalsWait::~SignalsWait() {
  --waits;
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void remove_temporary(const std::string& path) noexcept {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return;
  const int error = errno;
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 && errno == ENOENT) return;  // read-only file systems say EROFS
  try {
    const std::lock_guard lock(left_behind().mutex);
    left_behind().sentences.push_back(fmt::format(
        "the temporary file '{}' ({}) could not be removed; remove it", path, std::strerror(error)));
  } catch (...) {  // there is no memory even for that
  }
}

std::vector<std::string> take_left_behind() {
  const std::lock_guard lock(left_behind().mutex);
  return std::exchange(left_behind().sentences, {});
}

}  // namespace warpmer::file
