#include "file/spill_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "file/checksum.h"
#include "system/disk.h"
#include "system/nameless_file.h"

namespace warpmer::file {
namespace {

std::string spill_advice(int error, const SpillRemedies& remedies) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return fmt::format("free some space{} {}{}", *remedies.less == 0 ? ", or" : ",", remedies.elsewhere,
                         remedies.less);
    case EFBIG:
      return fmt::format("raise the limit on file sizes (ulimit -f){}", remedies.less);
    default:
      return fmt::format("{}{}", remedies.elsewhere, remedies.less);
  }
}

}  // namespace

std::string tmp_directory_fault(const std::string& directory, int error, const SpillRemedies& remedies) {
  const char* variable = std::getenv("TMPDIR");
  const bool is_variable = variable != nullptr && directory == variable, is_missing = error == ENOENT;
  // A directory that nobody named is one that is there: what is missing was named.
  const char* by = is_variable ? ", which $TMPDIR names" : is_missing ? ", which --tmp-dir names" : "";
  return fmt::format("cannot make a temporary file in '{}'{}: {}; {}{}", directory, by,
                     is_missing ? "it does not exist" : std::strerror(error),
                     is_missing ? "make it, or " : "", remedies.elsewhere);
}

SpillFile::SpillFile(const std::string& directory, std::function<Progress()> read, SpillRemedies remedies)
    : directory_(directory), remedies_(remedies), share_read_(std::move(read)) {
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
  int error = 0;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    made_directory_ = ::mkdir(directory_.c_str(), 0700) == 0;
    error = made_directory_ ? 0 : errno;
    const bool is_there = made_directory_ || error == EEXIST;
    fd_ = system::open_nameless(directory_, 0600);
    // After other errors no name is tried: it would keep whoever made the directory from taking it away.
    if (fd_ < 0 && system::lacks_nameless_files(errno)) fd_ = system::open_unlinked(directory_);
    if (fd_ >= 0) return;
    if (is_there) error = errno;
    // Of a directory that has been removed since it was found, ext4 says EPERM.
    if ((error != ENOENT && error != EPERM) || !is_there) break;
  }
  if (made_directory_) ::rmdir(directory_.c_str());
  throw ResourceError(tmp_directory_fault(directory_, error, remedies_));
}

void SpillFile::write(std::uint64_t offset, std::span<const WritePiece> pieces) {
  const std::uint64_t bytes = bytes_of(pieces);
  const PiecesWritten written = write_pieces(fd_, offset, pieces);
  if (written.error != 0) fail_writing(written.bytes, written.error);
  written_ += bytes;
  write_behind_.note(fd_, offset + bytes, bytes);
}

void SpillFile::read(const Spilled& what, void* to) {
  char* const first = static_cast<char*>(to);
  std::uint64_t done = 0;
  while (done < what.bytes) {
    const ssize_t n = ::pread(fd_, first + done, what.bytes - done, static_cast<off_t>(what.offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail("read back", what.bytes - done, read_, n < 0 ? errno : EIO);
    done += static_cast<std::uint64_t>(n);
  }
  read_ += what.bytes;
  if (file::checksum(first, what.bytes) == what.checksum) return;
  // Bytes that did not get to the disk may have been given up since.
  if (const int error = system::sync_content(fd_); error != 0)
    fail("write", what.bytes, written_ - what.bytes, error);
  throw ResourceError(fmt::format(
      "{} bytes of the temporary file in '{}' are not those that were written: its disk or memory "
      "is faulty; {}",
      what.bytes, directory_, remedies_.elsewhere));
}

void SpillFile::will_need(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  system::will_need(fd_, offset, bytes);
}

void SpillFile::give_up(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  system::give_up(fd_, offset, bytes);
}

/// Returns what is going to be written, if the rest of the input takes as much as what has been read since
/// the file was begun; 0 when that is not known.
std::uint64_t SpillFile::bytes_of_the_rest(std::uint64_t written) const {
  const Progress read = share_read();
  if (read.done <= read_before_ || read.total <= read.done) return 0;
  return static_cast<std::uint64_t>(static_cast<double>(written) *
                                    static_cast<double>(read.total - read.done) /
                                    static_cast<double>(read.done - read_before_));
}

/// Throws the error of a write that wrote so many bytes of the pieces at hand. The sum needed counts what
/// other threads are about to write, too.
void SpillFile::fail_writing(std::uint64_t written, int error) const {
  const std::uint64_t done = written_ + written, at_hand = end_ - done, rest = bytes_of_the_rest(end_);
  fail(rest > 0 ? "write about" : "write", at_hand + rest, done, error);
}

void SpillFile::fail(const std::string& doing, std::uint64_t bytes, std::uint64_t done, int error) const {
  throw ResourceError(fmt::format("cannot {} {} more bytes, after {}, of the temporary file in '{}': {}; {}",
                                  doing, bytes, done, directory_, std::strerror(error),
                                  spill_advice(error, remedies_)));
}

}  // namespace warpmer::file
