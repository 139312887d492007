#pragma once
/// A file's way between the page cache and the disk: hints, and waiting until it is there.

#include <cstdint>

namespace warpmer::system {

/// Tells the system that an open file is going to be read from its beginning to its end.
void read_in_order(int descriptor) noexcept;

/// Tells it that a range is about to be read, or that its memory may serve others; 0 bytes are all from
/// `offset` on. Of what has not been written to the disk nothing is given up.
void will_need(int descriptor, std::uint64_t offset, std::uint64_t bytes) noexcept;
void give_up(int descriptor, std::uint64_t offset, std::uint64_t bytes) noexcept;

/// Asks it to begin writing what is in its cache of a file to the disk, and does not wait for that.
void begin_writing(int descriptor) noexcept;

/// Waits until the content of a file is on the disk. Returns 0 or errno, and EINVAL where there is no disk.
int sync_content(int descriptor) noexcept;

}  // namespace warpmer::system
