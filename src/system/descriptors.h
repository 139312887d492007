#pragma once
/// Descriptors of this process: pipes, and files that it was given open.

#include <string_view>

namespace warpmer::system {

/// Returns the number N of a path like /dev/fd/N, by which the system names an open descriptor; -1 for any
/// other path.
int descriptor_named(std::string_view path) noexcept;

/// Opens the file of a descriptor once more, for reading, with a place of its own. Returns a descriptor, or
/// -1 with errno set: not every system can do that.
int open_again(int descriptor);

/// Makes a pipe, whose ends other programs do not get, and returns 0 or errno. `ends` are that for reading
/// and that for writing. With `without_waiting`, neither end waits.
int make_pipe(int (&ends)[2], bool without_waiting = false) noexcept;

/// Lets a pipe hold more, if it can: only a hint.
void widen_pipe(int end) noexcept;

}  // namespace warpmer::system
