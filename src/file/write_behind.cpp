#include "file/write_behind.h"

#include <algorithm>

#include "system/disk.h"

namespace warpmer::file {
namespace {

/// The kernel is asked each time that so much has been written to its cache.
constexpr std::uint64_t kAskBytes = std::uint64_t{8} << 20;
/// Everything that is so far from the end of the file is on the disk, if the disk keeps up, and given up;
/// what it had not written then is tried again, until the end is so far.
constexpr std::uint64_t kNearBytes = std::uint64_t{64} << 20, kFarBytes = 4 * kNearBytes;

}  // namespace

void WriteBehind::note(int descriptor, std::uint64_t end, std::uint64_t bytes) noexcept {
  if ((unasked_bytes_ += bytes) < kAskBytes) return;
  unasked_bytes_ = 0;
  system::begin_writing(descriptor);
  if (!leaves_cache_ || end <= kNearBytes) return;
  const std::uint64_t begin = end - std::min(end, kFarBytes);
  system::give_up(descriptor, begin, end - kNearBytes - begin);
}

void WriteBehind::complete(int descriptor) const noexcept {
  if (leaves_cache_) system::give_up(descriptor, 0, 0);
}

}  // namespace warpmer::file
