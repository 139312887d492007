#include "system/file_pieces.h"

namespace warpmer::system {

ssize_t write_pieces_at(int descriptor, const iovec* pieces, int count, std::uint64_t offset) noexcept {
  return ::pwritev(descriptor, pieces, count, static_cast<off_t>(offset));
}

}  // namespace warpmer::system
