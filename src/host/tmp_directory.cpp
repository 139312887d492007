#include "host/tmp_directory.h"

#include <unistd.h>

#include <cstdlib>

#include "file/output/output_path.h"

namespace warpmer::host {

namespace {

/// /tmp is memory on many systems.
std::string directory_of_system() { return ::access("/var/tmp", W_OK | X_OK) == 0 ? "/var/tmp" : "/tmp"; }

}  // namespace

std::string tmp_directory(const std::string& chosen, const std::string& output) {
  if (!chosen.empty()) return chosen;
  if (const char* given = std::getenv("TMPDIR"); given != nullptr && *given != '\0') return given;
  return directory_beside(output);
}

std::string directory_beside(const std::string& output) {
  if (file::is_stream(output)) return directory_of_system();
  return file::parent_of(file::resolve(output));
}

}  // namespace warpmer::host
