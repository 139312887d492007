#include "engine/tmp_directory.h"

#include <unistd.h>

#include <cstdlib>

#include "index/output_path.h"

namespace warpmer::engine {

namespace {

/// /tmp is memory on many systems.
std::string directory_of_system() { return ::access("/var/tmp", W_OK | X_OK) == 0 ? "/var/tmp" : "/tmp"; }

}  // namespace

std::string tmp_directory(const std::string& chosen, const std::string& output) {
  if (!chosen.empty()) return chosen;
  if (const char* given = std::getenv("TMPDIR"); given != nullptr && *given != '\0') return given;
  if (index::is_stream(output)) return directory_of_system();
  return index::parent_of(index::resolve(output));
}

}  // namespace warpmer::engine
