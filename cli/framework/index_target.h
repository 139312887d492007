#pragma once
/// What a command that makes an index leaves: the index, or its k-mers in the format of another program.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "formats/format.h"

namespace warpmer::cli {

/// `-o` and `--to`
struct IndexTargetFlags {
  std::string output;
  std::string to;  ///< empty: by what `output` ends in, else an index
};

void add_index_target_flags(CLI::App& app, IndexTargetFlags& flags);

class TemporaryIndex;

/// Where such a command's job writes its index, and what is made of it then.
class IndexTarget {
 public:
  /// UsageError without an output, for an unknown format or an ending of another one, and when standard
  /// output cannot take it: no terminal takes an index, unless that passes bytes on, and of other formats
  /// only text is written to a stream.
  explicit IndexTarget(const IndexTargetFlags& flags, bool may_be_terminal = false);
  ~IndexTarget();
  IndexTarget(const IndexTarget&) = delete;
  IndexTarget& operator=(const IndexTarget&) = delete;

  [[nodiscard]] formats::Format format() const noexcept { return format_; }
  /// As given: the prefix of a KMC database.
  [[nodiscard]] const std::string& output() const noexcept { return output_; }
  /// What is written.
  [[nodiscard]] std::vector<std::string> files() const;

  /// Where the job is to write its index: to the output, or to a temporary file in `directory`, which is gone
  /// when this object is, and when a signal ends the process. A directory that is not there is made, and
  /// removed again. ResourceError when an output cannot be written, so that that costs no job.
  std::string index_path(const std::string& directory);

  /// Unless the index is the output: writes its k-mers to that. `memory_bytes` is for the whole process; 0:
  /// the default. Errors as of jobs::export_index.
  void write(std::uint64_t memory_bytes, unsigned threads);

  /// For a summary: the output, with its bytes.
  [[nodiscard]] std::string summary(std::uint64_t index_bytes) const;

 private:
  std::string output_;
  formats::Format format_;
  std::unique_ptr<TemporaryIndex> temporary_;  ///< once `index_path` was asked, of other formats
};

}  // namespace warpmer::cli
