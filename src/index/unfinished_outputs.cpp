#include "index/unfinished_outputs.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>

namespace warpmer::index {
namespace {

enum class State : int { free, busy, armed };

/// A handler may interrupt any thread at any instruction, so a slot's path is only read or written
/// by whoever moved its state to `busy`.
struct Slot {
  std::atomic<State> state{State::free};
  std::array<char, PATH_MAX> path{};
};
static_assert(std::atomic<State>::is_always_lock_free);

constexpr int kSlots = 32;
constinit std::array<Slot, kSlots> slots{};

}  // namespace

UnfinishedOutput::UnfinishedOutput(const std::string& path) noexcept : slot_(-1) {
  if (path.size() >= PATH_MAX) return;
  for (int i = 0; i < kSlots; ++i) {
    Slot& slot = slots[static_cast<std::size_t>(i)];
    State expected = State::free;
    if (!slot.state.compare_exchange_strong(expected, State::busy)) continue;
    std::memcpy(slot.path.data(), path.c_str(), path.size() + 1);
    slot.state.store(State::armed);
    slot_ = i;
    return;
  }
}

UnfinishedOutput::~UnfinishedOutput() {
  if (slot_ < 0) return;
  // A slot that a handler has just taken is the handler's to free.
  State expected = State::armed;
  slots[static_cast<std::size_t>(slot_)].state.compare_exchange_strong(expected, State::free);
}

void remove_unfinished_outputs() noexcept {
  const int saved_errno = errno;
  for (Slot& slot : slots) {
    State expected = State::armed;
    if (!slot.state.compare_exchange_strong(expected, State::busy)) continue;
    ::unlink(slot.path.data());
    slot.state.store(State::free);
  }
  errno = saved_errno;
}

}  // namespace warpmer::index
