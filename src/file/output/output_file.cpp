#include "file/output/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "file/mapped_inputs.h"
#include "file/output/output_group.h"
#include "file/output/output_path.h"
#include "system/access_list.h"
#include "system/disk.h"
#include "system/nameless_file.h"

namespace warpmer::file {
namespace {

std::string name_of(const std::string& path) {
  return is_standard_output(path) ? std::string("standard output") : fmt::format("'{}'", path);
}

bool is_null_device(int fd) {
  struct stat status {};
  struct stat null {};
  return ::fstat(fd, &status) == 0 && S_ISCHR(status.st_mode) && ::stat("/dev/null", &null) == 0 &&
         S_ISCHR(null.st_mode) && status.st_rdev == null.st_rdev;
}

/// Gives the open file `fd` the owner, the group, the mode and the access control list of the regular file
/// `replaced`, as far as this process may, and beyond that `also`; nothing if there is no such file. Where
/// the group cannot be kept, another group gets no more rights than all others have.
void take_rights_of(const std::string& replaced, int fd, mode_t also = 0) noexcept {
  struct stat old {
  }, own{};
  if (::stat(replaced.c_str(), &old) != 0 || !S_ISREG(old.st_mode) || ::fstat(fd, &own) != 0) return;
  const auto is_same = [&] { return own.st_uid == old.st_uid && own.st_gid == old.st_gid; };
  // Owners are the superuser's to give away, groups also a member's.
  if (!is_same() && ::fchown(fd, old.st_uid, old.st_gid) != 0 &&
      ::fchown(fd, static_cast<uid_t>(-1), old.st_gid) != 0) {
    // It stays this process's.
  }
  if (::fstat(fd, &own) != 0) return;
  mode_t mode = old.st_mode & 0777;
  if (own.st_gid != old.st_gid) mode &= ~(0070 & ~((mode & 0007) << 3));
  if (is_same() && system::copy_access_list(replaced, fd) && also == 0) return;
  ::fchmod(fd, mode | also);
}

constexpr mode_t kNewFileMode = 0666;

}  // namespace

OutputFile::OutputFile(const std::string& path, unsigned writers) : path_(path), target_(path) {
  MappedInputs::begin_output();
  check_output_path(path);
  if (is_stream(path)) {
    open_stream();
  } else {
    create();
    if (writers >= SharedMemoryFile::kLeastWriters && SharedMemoryFile::is_one(fd_)) shared_.emplace(fd_);
  }
}

OutputFile::OutputFile(const std::string& path, const PartOf& other)
    : path_(path), target_(path), temporary_(other.temporary), is_part_(true) {
  fd_ = ::open(temporary_.path().c_str(), O_RDWR | O_CLOEXEC);
  if (fd_ < 0) {
    throw ResourceError(fmt::format(
        "cannot write '{}' from all ranks: {}; choose an output in a file system that all of them share",
        path, std::strerror(errno)));
  }
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) ::close(fd_);
}

void OutputFile::open_stream() {
  is_stream_ = true;
  fd_ = is_standard_output(path_) ? ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                                  : ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd_ < 0) {
    const char* const why =
        errno == ENXIO ? "it is a socket, or a device that is not there" : std::strerror(errno);
    throw ResourceError(fmt::format("cannot open {} for writing: {}", name_of(path_), why));
  }
  is_null_ = is_null_device(fd_);
}

/// False where there can be none, where its rights would not be certain, or where it could not be named in
/// the end. That is tried with another one: a file that has had a name and lost it cannot get one again.
bool OutputFile::create_without_name() {
  const std::string parent = parent_of(target_);
  const std::optional<mode_t> mode = system::mode_of_nameless(parent);
  if (!mode) return false;
  const int other = system::open_nameless(parent, *mode);
  if (other < 0) return false;
  TemporaryName trial;
  const bool can_be_named = trial.take(target_, other) == 0;
  trial.remove();
  ::close(other);
  if (can_be_named) fd_ = system::open_nameless(parent, *mode);
  return fd_ >= 0;
}

void OutputFile::create() {
  target_ = resolve(path_);
  if (!create_without_name()) {
    // A file that replaces another gets the rights of that one below; until then no other user may open it.
    std::error_code ignored;
    const mode_t mode = std::filesystem::is_regular_file(target_, ignored) ? S_IRUSR | S_IWUSR : kNewFileMode;
    const int error = temporary_.take(target_, [&](const std::string& name) {
      fd_ = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
      return fd_ >= 0 ? 0 : errno;
    });
    if (error != 0) {
      throw ResourceError(
          fmt::format("cannot create '{}': {}", path_, creation_fault(parent_of(target_), error)));
    }
  }
  // No other user reads what is not to be read, from the beginning; other ranks of this user may write.
  take_rights_of(target_, fd_, S_IRUSR | S_IWUSR);
}

const std::string& OutputFile::temporary() {
  is_shared_ = !is_stream_;
  if (!is_stream_ && temporary_.empty()) {
    if (const int error = temporary_.take(target_, fd_); error != 0) fail("name", error);
  }
  return temporary_.path();
}

void OutputFile::set_mode(unsigned mode) noexcept {
  if (!is_stream_ && ::fchmod(fd_, static_cast<mode_t>(mode)) != 0) {
    // It keeps those of new files.
  }
}

void OutputFile::write(std::uint64_t offset, std::span<const WritePiece> pieces) {
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
  const int error = system::sync_content(fd_);
  if (error != 0 && error != EINVAL) fail("complete", error);  // some file systems have nothing to sync to
  write_behind_.complete(fd_);
}

void OutputFile::complete() {
  if (is_complete_) return;
  MappedInputs::check();
  // Space that was allocated ahead is given back.
  if (shared_ && ::ftruncate(fd_, static_cast<off_t>(end_)) != 0) fail("complete", errno);
  if (!is_stream_ && !is_part_) take_rights_of(target_, fd_);
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
  CompleteFile file(path_, target_, std::exchange(fd_, -1), std::move(temporary_));
  // A file that is to be removed again is no output, and the job that made it looks at it before there is
  // one.
  OutputGroup* const group = is_unfinished(path_) ? nullptr : OutputGroup::current();
  if (!group) {
    file.name(false);
  } else if (is_shared_) {
    group->add_named(std::move(file));
  } else {
    group->add(std::move(file));
  }
}

void OutputFile::fail_writing(int error, std::uint64_t bytes, std::uint64_t written) const {
  const std::uint64_t done = written_ + written, known = bytes - written, expected = expected_;
  const bool more_is_expected = expected > done + known;
  fail(fmt::format("write {}{} more bytes, after {}, to", more_is_expected ? "about " : "",
                   more_is_expected ? expected - done : known, done),
       error);
}

void OutputFile::fail(const std::string& doing, int error) const {
  throw ResourceError(fmt::format("cannot {} {}: {}{}", doing, name_of(path_), std::strerror(error),
                                  output_advice(error, is_unfinished(path_))));
}

}  // namespace warpmer::file
