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

/// Returns false where there is one already.
bool make_directory(const std::string& directory) {
  if (::mkdir(directory.c_str(), 0700) == 0) return true;
  if (errno == EEXIST) return false;
  throw ResourceError(file::tmp_directory_fault(directory, errno));
}

}  // namespace

TemporaryIndex::TemporaryIndex(const std::string& directory, IfMissing if_missing) : directory_(directory) {
  if (if_missing == IfMissing::make) hold_directory();
  require_directory(directory);
  name_.take(directory + "/warpmer-index",
             [](const std::string& path) { return ::access(path.c_str(), F_OK) == 0 ? EEXIST : 0; });
}

/// A job that ends removes a directory that it has made, if nothing is in it. Files have no names there until
/// they are complete; so something with a name keeps the directory for this job.
void TemporaryIndex::hold_directory() {
  constexpr int kTries = 10;  // between the two calls it may go
  for (int i = 0; i < kTries; ++i) {
    made_directory_ = make_directory(directory_);
    unfinished_directory_.reset();
    if (made_directory_) unfinished_directory_.emplace(directory_);
    if (holder_.take(directory_ + "/warpmer-index", make_file) != ENOENT) return;
  }
}

TemporaryIndex::~TemporaryIndex() {
  name_.remove();
  holder_.remove();
  if (made_directory_) ::rmdir(directory_.c_str());
}

}  // namespace warpmer::jobs
