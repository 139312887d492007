#include "index/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <utility>

#include "core/error.h"
#include "index/mapped_inputs.h"
#include "index/output_path.h"

namespace warpmer::index {
namespace {

/// A few characters that no other process will think of at the same time.
std::string random_suffix() {
  static constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device device;
  std::uniform_int_distribution<std::size_t> pick(0, sizeof kLetters - 2);
  std::string suffix(12, ' ');
  for (char& c : suffix) c = kLetters[pick(device)];
  return suffix;
}

std::string name_of(const std::string& path) {
  return is_standard_output(path) ? std::string("standard output") : fmt::format("'{}'", path);
}

bool is_null_device(int fd) {
  constexpr unsigned kMemoryDevices = 1, kNull = 3;  // Linux's numbers
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISCHR(status.st_mode) &&
         status.st_rdev == makedev(kMemoryDevices, kNull);
}

/// Gives a file without a name one. Returns 0 or errno.
int link_descriptor(int fd, const std::string& path) {
  const std::string self = fmt::format("/proc/self/fd/{}", fd);
  return ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

constexpr mode_t kNewFileMode = 0666;

/// The umask of this process, without changing it, as umask(2) would for all threads. Nothing where the
/// kernel (before 4.7) does not tell, or /proc is not mounted.
std::optional<mode_t> file_mode_mask() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    mode_t mask = 0;
    if (std::sscanf(line.c_str(), "Umask: %o", &mask) == 1) return mask;
  }
  return std::nullopt;
}

/// The mode to make a file without a name with, so that it gets the rights of any new file in the directory:
/// in file systems without ACLs, kernels before 6.0 do not apply the umask to such files. Where the directory
/// has a default ACL, that is applied, and no umask.
std::optional<mode_t> mode_without_name(const std::string& parent) {
  if (::getxattr(parent.c_str(), "system.posix_acl_default", nullptr, 0) > 0) return kNewFileMode;
  const std::optional<mode_t> mask = file_mode_mask();
  if (!mask) return std::nullopt;
  return kNewFileMode & ~*mask;
}

int open_without_name(const std::string& parent, mode_t mode) {
  return ::open(parent.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
}

/// Why a file cannot be made in a directory, in words.
std::string creation_fault(const std::string& parent, int error) {
  struct stat status {};
  if (::stat(parent.c_str(), &status) != 0 && errno == ENOENT) {
    return fmt::format("the directory '{}' does not exist: create it first, or choose another output",
                       parent);
  }
  if (error == ENOTDIR) return fmt::format("'{}' is not a directory: choose another output", parent);
  if (error == EACCES || error == EPERM || error == EROFS) {
    return fmt::format("the directory '{}' is not writable ({}): choose another output", parent,
                       std::strerror(error));
  }
  return std::strerror(error);
}

const char* advice(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return ": free some space, or choose another output";
    case EFBIG:
      return ": raise the limit on file sizes (ulimit -f), or choose another output";
    case EPIPE:
      return ": the reading program has ended";
    default:
      return "";
  }
}

}  // namespace

OutputFile::OutputFile(const std::string& path, unsigned writers) : path_(path), target_(path) {
  MappedInputs::begin_output();
  if (path.empty()) throw ResourceError("cannot write the index: its path is empty");
  std::error_code ignored;
  if (!is_standard_output(path) && std::filesystem::is_directory(path, ignored)) {
    throw ResourceError(fmt::format("cannot write '{}': it is a directory; give the name of a file", path));
  }
  if (is_stream(path)) {
    open_stream();
  } else {
    create();
    if (writers >= SharedMemoryFile::kLeastWriters && SharedMemoryFile::is_one(fd_)) shared_.emplace(fd_);
  }
}

OutputFile::OutputFile(const std::string& path, const PartOf& other)
    : path_(path), target_(path), temporary_(other.temporary) {
  registered_.emplace(temporary_);
  fd_ = ::open(temporary_.c_str(), O_RDWR | O_CLOEXEC);
  if (fd_ < 0) {
    throw ResourceError(fmt::format(
        "cannot write '{}' from all ranks: {}; choose an output in a file system that all of them share",
        path, std::strerror(errno)));
  }
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) ::close(fd_);
  if (registered_) ::unlink(temporary_.c_str());
}

void OutputFile::open_stream() {
  is_stream_ = true;
  fd_ = is_standard_output(path_) ? ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                                  : ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd_ < 0)
    throw ResourceError(fmt::format("cannot open {} for writing: {}", name_of(path_), std::strerror(errno)));
  is_null_ = is_null_device(fd_);
}

template <class Take>
int OutputFile::take_temporary_name(const Take& take) {
  // Names may have 255 bytes; the ones the user sees need not leave room for the additions.
  const std::string name = std::filesystem::path(target_).filename().string().substr(0, 200);
  int error = EEXIST;
  for (int attempt = 0; attempt < 100 && (error == EEXIST || error == EINTR); ++attempt) {
    temporary_ = fmt::format("{}/.{}.{}.tmp", parent_of(target_), name, random_suffix());
    registered_.emplace(temporary_);  // before it exists: a signal at any moment finds it
    error = take(temporary_);
    if (error == 0) return 0;
    registered_.reset();
    temporary_.clear();
  }
  return error;
}

/// False where there can be none, where its rights would not be certain, or where it could not be named in
/// the end. That is tried with another one: a file that has had a name and lost it cannot get one again.
bool OutputFile::create_without_name() {
  const std::string parent = parent_of(target_);
  const std::optional<mode_t> mode = mode_without_name(parent);
  if (!mode) return false;
  const int other = open_without_name(parent, *mode);
  if (other < 0) return false;
  const bool can_be_named =
      take_temporary_name([&](const std::string& name) { return link_descriptor(other, name); }) == 0;
  if (can_be_named) ::unlink(temporary_.c_str());
  registered_.reset();
  temporary_.clear();
  ::close(other);
  if (can_be_named) fd_ = open_without_name(parent, *mode);
  return fd_ >= 0;
}

void OutputFile::create() {
  target_ = resolve(path_);
  if (std::filesystem::path(target_).filename().empty())
    throw ResourceError(fmt::format("cannot write '{}': it names a directory, not a file", path_));
  if (create_without_name()) return;
  const int error = take_temporary_name([&](const std::string& name) {
    fd_ = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kNewFileMode);
    return fd_ >= 0 ? 0 : errno;
  });
  if (error != 0) {
    throw ResourceError(
        fmt::format("cannot create '{}': {}", path_, creation_fault(parent_of(target_), error)));
  }
}

const std::string& OutputFile::temporary() {
  if (!is_stream_ && temporary_.empty()) {
    const int error =
        take_temporary_name([&](const std::string& name) { return link_descriptor(fd_, name); });
    if (error != 0) fail("name", error);
  }
  return temporary_;
}

void OutputFile::write(std::uint64_t offset, std::span<const Piece> pieces) {
  const std::uint64_t bytes = bytes_of(pieces), end = offset + bytes;
  if (shared_ && bytes >= SharedMemoryFile::kLeastBytes) {
    if (const int error = shared_->write(offset, pieces); error != 0) fail_writing(error, bytes, 0);
  } else {
    const PiecesWritten written =
        write_pieces(fd_, is_stream_ ? std::nullopt : std::optional(offset), pieces);
    if (written.error != 0) fail_writing(written.error, bytes, written.bytes);
    if (!is_stream_) write_behind_.note(fd_, end, bytes);
  }
  written_ += bytes;
  for (std::uint64_t seen = end_; seen < end && !end_.compare_exchange_weak(seen, end);) {
  }
}

/// Disks, quotas and network file systems may refuse what the cache has taken.
void OutputFile::sync() {
  int result = 0;
  do result = ::fdatasync(fd_);
  while (result != 0 && errno == EINTR);
  const bool can_sync = result == 0 || errno != EINVAL;  // some file systems have nothing to sync to
  if (result != 0 && can_sync) fail("complete", errno);
  write_behind_.complete(fd_);
}

void OutputFile::complete() {
  if (is_complete_) return;
  MappedInputs::check();
  // What was allocated ahead is given back.
  if (shared_ && ::ftruncate(fd_, static_cast<off_t>(end_)) != 0) fail("complete", errno);
  if (!is_stream_) sync();
  is_complete_ = true;
  if (!is_stream_ && temporary_.empty()) return;  // it would be gone
  // Closing is the last chance to hear of a failure.
  const int fd = std::exchange(fd_, -1);
  if (::close(fd) != 0 && errno != EINTR) fail("complete", errno);
}

void OutputFile::commit() {
  complete();
  if (is_stream_) return;
  // A link replaces nothing.
  const bool is_named = temporary_.empty() && link_descriptor(fd_, target_) == 0;
  if (!is_named && ::rename(temporary().c_str(), target_.c_str()) != 0) fail("name", errno);
  registered_.reset();
}

void OutputFile::fail_writing(int error, std::uint64_t bytes, std::uint64_t written) const {
  const std::uint64_t done = written_ + written, known = bytes - written, expected = expected_;
  const bool more_is_expected = expected > done + known;
  fail(fmt::format("write {}{} more bytes, after {}, to", more_is_expected ? "about " : "",
                   more_is_expected ? expected - done : known, done),
       error);
}

void OutputFile::fail(const std::string& doing, int error) const {
  throw ResourceError(
      fmt::format("cannot {} {}: {}{}", doing, name_of(path_), std::strerror(error), advice(error)));
}

}  // namespace warpmer::index
