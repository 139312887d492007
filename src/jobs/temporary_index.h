#pragma once
/// An index on its way to something else.

#include <string>

#include "file/output/temporary_name.h"

namespace warpmer::jobs {

/// A name for a file that is not there yet, in a directory that is made if need be. Both are removed with
/// this object, and the file when a signal ends the process.
class TemporaryIndex {
 public:
  /// ResourceError when the directory cannot be made.
  explicit TemporaryIndex(const std::string& directory);
  ~TemporaryIndex();
  TemporaryIndex(const TemporaryIndex&) = delete;
  TemporaryIndex& operator=(const TemporaryIndex&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return name_.path(); }

 private:
  std::string directory_;
  file::TemporaryName name_;
  bool made_directory_ = false;
};

}  // namespace warpmer::jobs
