#pragma once
/// Memory that this process holds.

#include <cstdint>
#include <optional>

namespace warpmer::system {

/// Returns the resident set now, where the system tells.
std::optional<std::uint64_t> resident_bytes();
/// Returns the largest that the resident set has been. (By POSIX alone, Linux begins with that of the process
/// that was replaced by this program.)
std::uint64_t peak_resident_bytes();
/// Returns the part of the resident set that is in no file, as far as that is known; else 0.
std::uint64_t resident_bytes_of_no_file();

/// Gives what has been freed back to the system now, if the allocator can do that.
void return_freed_memory() noexcept;
/// Makes memory that is freed go back to the system at once from now on, if the allocator can do that.
void return_freed_memory_at_once() noexcept;

}  // namespace warpmer::system
