#pragma once
/// The memory that several indexes take as long as they are open.

#include <cstdint>
#include <string>
#include <vector>

namespace warpmer::engine {

/// ResourceError, naming a cap that would do, where what is kept of so many indexes is more than a cap on the
/// process leaves: before they are open. They are taken to be like the first, if that is a file. A small
/// part of the cap is passed over, as the session says better what would do.
void refuse_too_many(const std::vector<std::string>& paths, std::uint64_t memory_cap, unsigned threads);

}  // namespace warpmer::engine
