#pragma once
/// An index on its way to something else.

#include <optional>
#include <string>

#include "file/output/temp_file_registry.h"
#include "file/output/temporary_name.h"

namespace warpmer::jobs {

/// A name for a file that is not there yet, in a directory. The file is removed with this object, and when a
/// signal ends the process.
class TemporaryIndex {
 public:
  /// The choice for a directory that is not there.
  enum class IfMissing {
    refuse,  ///< as by other programs, whose names we go by
    make,    ///< it is removed with this object, too: so it is with `--tmp-dir`
  };

  /// ResourceError when the directory is not there, or cannot be made.
  explicit TemporaryIndex(const std::string& directory, IfMissing if_missing = IfMissing::refuse);
  ~TemporaryIndex();
  TemporaryIndex(const TemporaryIndex&) = delete;
  TemporaryIndex& operator=(const TemporaryIndex&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return name_.path(); }

 private:
  void hold_directory();

  std::string directory_;
  file::TemporaryName holder_;
  file::TemporaryName name_;
  bool made_directory_ = false;
  std::optional<file::UnfinishedOutput> unfinished_directory_;  ///< for a signal, if it was made
};

}  // namespace warpmer::jobs
