#pragma once
/// The output of a command that makes an index: the index, or its k-mers in the format of another program.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "formats/format.h"
#include "host/limits.h"
#include "jobs/temporary_index.h"

namespace warpmer::cli {

/// `-o` and `--to`
struct IndexTargetFlags {
  std::string output;
  std::string to;  ///< empty: decided by the ending of `output`, else an index
};

void add_index_target_flags(CLI::App& app, IndexTargetFlags& flags);

/// The place to which such a command's job writes its index, and the output that is then made of it.
class IndexTarget {
 public:
  /// Throws a UsageError without an output, for an unknown format or an ending of another one, and when
  /// standard output cannot take it: no terminal takes an index, unless that passes bytes on, and of other
  /// formats only text is written to a stream.
  explicit IndexTarget(const IndexTargetFlags& flags, bool may_be_terminal = false);
  ~IndexTarget();
  IndexTarget(const IndexTarget&) = delete;
  IndexTarget& operator=(const IndexTarget&) = delete;

  [[nodiscard]] formats::Format format() const noexcept { return format_; }
  /// Returns the output as given: for a KMC database, its prefix.
  [[nodiscard]] const std::string& output() const noexcept { return output_; }
  /// Returns the files that are written.
  [[nodiscard]] std::vector<std::string> files() const;

  /// Returns the path to which the job must write its index: the output, or a temporary file in `directory`,
  /// which is removed with this object, and when a signal ends the process. A missing directory is made, and
  /// removed again. Throws a ResourceError when an output cannot be written, so that this is known before the
  /// job.
  std::string index_path(const std::string& directory);

  /// Writes the index's k-mers to the output, unless the index is the output. Throws the errors of
  /// jobs::export_index.
  void write(const host::Resources& resources);

  /// Returns the output with its bytes, for a summary.
  [[nodiscard]] std::string summary(std::uint64_t index_bytes) const;

 private:
  std::string output_;
  formats::Format format_;
  std::unique_ptr<jobs::TemporaryIndex>
      temporary_;  ///< for other formats: set once `index_path` has been called
};

}  // namespace warpmer::cli
