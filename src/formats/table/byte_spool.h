#pragma once
/// Bytes that wait until it is their turn to be written: few in memory, more in a temporary file.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "file/spill_file.h"

namespace warpmer::formats {

/// The temporary file of several spools, which is made when one needs it. ResourceErrors as SpillFile has
/// them.
class SpoolFile {
 public:
  explicit SpoolFile(std::string directory) : directory_(std::move(directory)) {}
  [[nodiscard]] file::SpillFile& get() { return file_ ? *file_ : make(); }

 private:
  /// How much there is of a table does not depend on memory.
  file::SpillFile& make() {
    return file_.emplace(directory_, nullptr, file::SpillRemedies{"set TMPDIR to another folder", ""});
  }

  std::string directory_;
  std::optional<file::SpillFile> file_;
};

class ByteSpool {
 public:
  /// `file` has to stay until the spool is gone.
  explicit ByteSpool(SpoolFile& file);

  void append(std::string_view bytes);
  [[nodiscard]] std::uint64_t bytes() const noexcept { return spilled_bytes_ + waiting_.size(); }
  /// Gives all bytes back, in order, in pieces.
  void read(const std::function<void(std::string_view piece)>& take) const;

 private:
  SpoolFile* file_;
  std::vector<file::Spilled> spilled_;
  std::uint64_t spilled_bytes_ = 0;
  std::string waiting_;
};

}  // namespace warpmer::formats
