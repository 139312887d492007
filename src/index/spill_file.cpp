#include "index/spill_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/error.h"
#include "index/file_frame.h"

namespace warpmer::index {
namespace {

const char* spill_advice(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "free some space, choose another --tmp-dir, or raise -m";
    case EFBIG:
      return "raise the limit on file sizes (ulimit -f), or raise -m";
    default:
      return "choose another --tmp-dir, or raise -m";
  }
}

/// Opens a file that has a name only for a moment. Returns a descriptor, or -1 with errno set.
int open_and_unlink(const std::string& directory) {
  std::string path = directory + "/.warpmer-spill.XXXXXX";
  const int fd = ::mkostemp(path.data(), O_CLOEXEC);
  if (fd >= 0) ::unlink(path.c_str());
  return fd;
}

}  // namespace

SpillFile::SpillFile(const std::string& directory) : directory_(directory) {
  open();
  // Where the file system has to keep a name after all (NFS), the destructor tries again.
  if (made_directory_) made_directory_ = ::rmdir(directory_.c_str()) != 0;
}

SpillFile::~SpillFile() {
  ::close(fd_);
  if (made_directory_) ::rmdir(directory_.c_str());
}

void SpillFile::open() {
  // Other processes of the job may make the directory, and take it away, at the same time.
  constexpr int kMostAttempts = 1000;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    made_directory_ = ::mkdir(directory_.c_str(), 0700) == 0;
    const bool is_there = made_directory_ || errno == EEXIST;
    fd_ = ::open(directory_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    // Kernels and file systems that know no O_TMPFILE say so in different ways.
    if (fd_ < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL || errno == ENOSYS))
      fd_ = open_and_unlink(directory_);
    if (fd_ >= 0) return;
    // Of a directory that has been removed since it was found, ext4 says EPERM.
    if ((errno != ENOENT && errno != EPERM) || !is_there) break;
  }
  const int error = errno;
  if (made_directory_) ::rmdir(directory_.c_str());
  throw ResourceError(fmt::format("cannot make a temporary file in '{}': {}; choose another --tmp-dir",
                                  directory_, std::strerror(error)));
}

void SpillFile::write(std::uint64_t offset, std::span<const Piece> pieces) {
  constexpr std::size_t kPiecesAtOnce = 256;
  std::array<iovec, kPiecesAtOnce> batch;
  const std::uint64_t begin = offset;
  std::size_t next = 0;       // the first piece not written completely
  std::size_t into_next = 0;  // how much of it is
  while (next < pieces.size()) {
    std::size_t used = 0;
    std::uint64_t wanted = 0;
    for (std::size_t i = next; i < pieces.size() && used < batch.size(); ++i) {
      const std::size_t skip = i == next ? into_next : 0;
      batch[used++] = {const_cast<char*>(static_cast<const char*>(pieces[i].data)) + skip,
                       pieces[i].bytes - skip};
      wanted += pieces[i].bytes - skip;
    }
    const ssize_t n = ::pwritev(fd_, batch.data(), static_cast<int>(used), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("write", wanted, errno);
    if (n == 0 && wanted > 0) fail("write", wanted, EIO);
    offset += static_cast<std::uint64_t>(n);
    for (into_next += static_cast<std::size_t>(n); next < pieces.size() && into_next >= pieces[next].bytes;
         ++next) {
      into_next -= pieces[next].bytes;
    }
  }
  written_ += offset - begin;
  write_behind_.note(fd_, offset, offset - begin);
}

void SpillFile::read(const Spilled& what, void* to) {
  char* const first = static_cast<char*>(to);
  std::uint64_t done = 0;
  while (done < what.bytes) {
    const ssize_t n = ::pread(fd_, first + done, what.bytes - done, static_cast<off_t>(what.offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail("read back", what.bytes - done, n < 0 ? errno : EIO);
    done += static_cast<std::uint64_t>(n);
  }
  read_ += what.bytes;
  if (layout::checksum(first, what.bytes) == what.checksum) return;
  // What did not get to the disk may have been given up since.
  if (::fdatasync(fd_) != 0) fail("write", what.bytes, errno);
  throw ResourceError(fmt::format(
      "{} bytes of the temporary file in '{}' are not those that were written: its disk or memory "
      "is faulty; choose another --tmp-dir",
      what.bytes, directory_));
}

void SpillFile::will_need(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  ::posix_fadvise(fd_, static_cast<off_t>(offset), static_cast<off_t>(bytes), POSIX_FADV_WILLNEED);
}

void SpillFile::give_up(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  ::posix_fadvise(fd_, static_cast<off_t>(offset), static_cast<off_t>(bytes), POSIX_FADV_DONTNEED);
}

void SpillFile::fail(const char* doing, std::uint64_t bytes, int error) const {
  throw ResourceError(fmt::format("cannot {} {} more bytes, after {}, of the temporary file in '{}': {}; {}",
                                  doing, bytes, doing[0] == 'w' ? written_.load() : read_.load(), directory_,
                                  std::strerror(error), spill_advice(error)));
}

}  // namespace warpmer::index
