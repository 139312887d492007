#pragma once
/// Memory that this process has now, for jobs that ask in their midst, when they hold much.

#include <cstdint>

namespace warpmer::host {

/// Returns the resident set now. Where the system does not tell (system/process_memory.h), it is what a
/// program has when a job begins, and `held` bytes, which the caller knows to be held besides; no more than
/// the largest that the resident set has been.
std::uint64_t resident_bytes_with(std::uint64_t held);

}  // namespace warpmer::host
