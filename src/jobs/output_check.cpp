#include "jobs/output_check.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "base/error.h"
#include "file/byte_file.h"
#include "file/output/output_path.h"
#include "formats/text/ending.h"
#include "io/fastx/sequence_data.h"

namespace warpmer::jobs {
namespace {

/// The file or pipe that a path leads to, if it is one and there. Of devices the same may be read and
/// written.
std::optional<std::pair<dev_t, ino_t>> identity_of(const std::string& path, int standard_stream) {
  struct stat status {};
  const int descriptor = path == "-" ? standard_stream : file::descriptor_in_path(path);
  const int result = descriptor >= 0 ? ::fstat(descriptor, &status) : ::stat(path.c_str(), &status);
  if (result != 0 || (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode))) return std::nullopt;
  return std::pair(status.st_dev, status.st_ino);
}

}  // namespace

void check_is_no_input(const std::string& output, const std::vector<std::string>& inputs) {
  const bool is_stream = file::is_standard_output(output);
  const auto own = identity_of(is_stream ? "-" : output, STDOUT_FILENO);
  if (!own) return;
  for (const std::string& input : inputs) {
    if (identity_of(input, STDIN_FILENO) != own) continue;
    if (is_stream) {
      throw UsageError(
          fmt::format("standard output is the same file as the input '{}'; write to another one", input));
    }
    throw UsageError(fmt::format("the output '{}' is one of the inputs{}; choose another name", output,
                                 file::is_stream(output) ? "" : " and would replace it"));
  }
}

void check_replaces_no_sequences(const std::string& output, const std::string& advice) {
  if (file::is_stream(output)) return;
  const std::string what = io::sequence_data_in(output);
  if (what.empty()) return;
  // An archive, but none of reads.
  if (formats::content_of_path(output).content == formats::Content::npz) return;
  throw UsageError(
      fmt::format("the output '{}' is there already and is sequence data ({}); {}", output, what, advice));
}

}  // namespace warpmer::jobs
