#include "index/output_path.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

namespace warpmer::index {

bool is_standard_output(const std::string& path) { return path == "-" || path == "/dev/stdout"; }

bool is_stream(const std::string& path) {
  struct stat status {};
  // What the shell has put standard output into may be a file; it is written in order all the same.
  return is_standard_output(path) || (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode));
}

std::string resolve(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real ? std::string(real.get()) : path;
}

std::string parent_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

}  // namespace warpmer::index
