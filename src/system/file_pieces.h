#pragma once
/// Pieces of memory that are written to a place in a file.

#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>

namespace warpmer::system {

/// Writes pieces one after the other from `offset` on; other threads may write elsewhere meanwhile. Returns
/// the bytes written, which may be fewer than there are, but 0 only if there are none; or -1 with errno set.
ssize_t write_pieces_at(int descriptor, const iovec* pieces, int count, std::uint64_t offset) noexcept;

}  // namespace warpmer::system
