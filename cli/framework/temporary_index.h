#pragma once
/// An index that a command makes on its way to something else.

#include <string>

#include "file/temporary_name.h"

namespace warpmer::cli {

/// A name for a file that is not there yet, in a directory that is made if need be. The file is removed with
/// this object, and when a signal ends the process; and so is the directory if it was made.
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

}  // namespace warpmer::cli
