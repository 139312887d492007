#pragma once
/// Files of a file system that is memory (tmpfs).

#include <cstdint>
#include <string>

namespace warpmer::system {

/// True when a file is on a tmpfs. False where the system does not tell.
bool is_in_memory(int descriptor) noexcept;
bool is_in_memory(const std::string& path) noexcept;

/// Gives a range of such a file its pages, and the file that length if it is shorter. Returns 0 or errno.
int allocate_pages(int descriptor, std::uint64_t begin, std::uint64_t end) noexcept;

}  // namespace warpmer::system
