#include "jobs/temporary_index.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace warpmer::jobs {

TemporaryIndex::TemporaryIndex(const std::string& directory) : directory_(directory) {
  made_directory_ = ::mkdir(directory.c_str(), 0700) == 0;
  if (!made_directory_ && errno != EEXIST) {
    throw ResourceError(fmt::format("cannot make the directory '{}': {}; choose another --tmp-dir", directory,
                                    std::strerror(errno)));
  }
  name_.take(directory + "/warpmer-index",
             [](const std::string& path) { return ::access(path.c_str(), F_OK) == 0 ? EEXIST : 0; });
}

TemporaryIndex::~TemporaryIndex() {
  name_.remove();
  if (made_directory_) ::rmdir(directory_.c_str());
}

}  // namespace warpmer::jobs
