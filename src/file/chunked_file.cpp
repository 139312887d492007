#include "file/chunked_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "file/input_error.h"

namespace warpmer::file {
namespace {

/// So much is read at a time, and then the job may have been cancelled.
constexpr std::size_t kReadStep = std::size_t{1} << 20;

}  // namespace

ChunkedFile::ChunkedFile(const std::string& path, std::string shown, std::uint64_t most_bytes,
                         const std::atomic<bool>& cancelled, std::uint64_t known_bytes)
    : shown_(std::move(shown)),
      cancelled_(cancelled),
      descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  struct stat status {};
  if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0) return;
  size_ = static_cast<std::uint64_t>(status.st_size);
  if (size_ < known_bytes) {
    ::close(descriptor_);
    throw BecameShorter(shown_);
  }
  // All of one size: a last chunk of some lines might have no record to begin with.
  const std::uint64_t least = std::max<std::uint64_t>(1, (size_ + most_bytes - 1) / most_bytes);
  chunk_bytes_ = std::max<std::uint64_t>(1, (size_ + least - 1) / least);
  chunks_ = (size_ + chunk_bytes_ - 1) / chunk_bytes_;
}

ChunkedFile::~ChunkedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void ChunkedFile::read(std::uint64_t offset, std::size_t size, char* into) const {
  for (std::size_t done = 0; done < size;) {
    if (cancelled_.load(std::memory_order_relaxed)) throw Cancelled{};
    const ssize_t count = ::pread(descriptor_, into + done, std::min(kReadStep, size - done),
                                  static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) throw BecameShorter(shown_);
    if (count < 0) {
      fail_at({shown_}, fmt::format("cannot be read any further, after {} bytes: {}", offset + done,
                                    system_message(errno)));
    }
    done += static_cast<std::size_t>(count);
  }
}

}  // namespace warpmer::file
