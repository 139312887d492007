#pragma once
/// Signals that a thread holds back, and asks for.

namespace warpmer::system {

/// Takes a signal that all threads hold back, if it has come. Returns whether it had.
bool take_signal(int signal) noexcept;

}  // namespace warpmer::system
