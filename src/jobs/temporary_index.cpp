#include "jobs/temporary_index.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "file/spill_file.h"

namespace warpmer::jobs {

namespace {

void require_directory(const std::string& directory) {
  std::error_code failed;
  if (std::filesystem::is_directory(directory, failed)) return;
  throw ResourceError(
      fmt::format("there is no directory '{}' for temporary files; make it, or name another", directory));
}

/// Makes an empty file. Returns 0 or errno.
int make_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return errno;
  ::close(file);
  return 0;
}

/// By its mode, other jobs know a directory that a job has made: the last of them removes it. The sticky bit
/// means nothing where no others may write, so that a user's own has none.
constexpr mode_t kModeOfJobs = 01700;

/// Returns false where there is one already that no job has made.
bool make_directory(const std::string& directory) {
  if (::mkdir(directory.c_str(), kModeOfJobs) == 0) return true;
  if (errno != EEXIST) throw ResourceError(file::tmp_directory_fault(directory, errno));
  struct stat there = {};
  return ::lstat(directory.c_str(), &there) == 0 && S_ISDIR(there.st_mode) && there.st_uid == ::geteuid() &&
         (there.st_mode & 07777 & ~S_ISGID) == kModeOfJobs;  // a group's own folder hands that bit on
}

}  // namespace

TemporaryIndex::TemporaryIndex(const std::string& directory, IfMissing if_missing) : directory_(directory) {
  if (if_missing == IfMissing::make) hold_directory();
  require_directory(directory);
  name_.take(directory + "/warpmer-index",
             [](const std::string& path) { return ::access(path.c_str(), F_OK) == 0 ? EEXIST : 0; });
}

/// A job that ends removes a directory that a job has made, if nothing is in it. Files have no names there
/// until they are complete; so something with a name keeps the directory for this job.
void TemporaryIndex::hold_directory() {
  constexpr int kTries = 10;  // between the two calls it may go
  for (int i = 0; i < kTries; ++i) {
    is_of_jobs_ = make_directory(directory_);
    unfinished_directory_.reset();
    if (is_of_jobs_) unfinished_directory_.emplace(directory_);
    if (holder_.take(directory_ + "/warpmer-index", make_file) != ENOENT) return;
  }
}

TemporaryIndex::~TemporaryIndex() {
  name_.remove();
  holder_.remove();
  if (is_of_jobs_) ::rmdir(directory_.c_str());
}

}  // namespace warpmer::jobs
