#pragma once
/// The bytes by which a file is told from others.

#include <cstddef>
#include <string>

namespace warpmer::file {

/// Returns the first bytes of a file that is to be opened again; all, if it has fewer. InputError when it
/// cannot be read; ResourceError without a descriptor for it.
std::string first_bytes(const std::string& path, std::size_t size);

}  // namespace warpmer::file
