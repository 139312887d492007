#include "jobs/temporary_index.h"

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

/// Returns false where there is one already.
bool make_directory(const std::string& directory) {
  if (::mkdir(directory.c_str(), 0700) == 0) return true;
  if (errno == EEXIST) return false;
  throw ResourceError(file::tmp_directory_fault(directory, errno));
}

}  // namespace

TemporaryIndex::TemporaryIndex(const std::string& directory, IfMissing if_missing) : directory_(directory) {
  if (if_missing == IfMissing::make) made_directory_ = make_directory(directory);
  require_directory(directory);
  name_.take(directory + "/warpmer-index",
             [](const std::string& path) { return ::access(path.c_str(), F_OK) == 0 ? EEXIST : 0; });
}

TemporaryIndex::~TemporaryIndex() {
  name_.remove();
  if (made_directory_) ::rmdir(directory_.c_str());
}

}  // namespace warpmer::jobs
