#include "system/file_pieces.h"

#include <unistd.h>

namespace warpmer::system {

/// The first that is not empty: callers write the rest in turn.
ssize_t write_pieces_at(int descriptor, const iovec* pieces, int count, std::uint64_t offset) noexcept {
  for (; count > 0; ++pieces, --count) {
    if (pieces->iov_len == 0) continue;
    return ::pwrite(descriptor, pieces->iov_base, pieces->iov_len, static_cast<off_t>(offset));
  }
  return 0;
}

}  // namespace warpmer::system
