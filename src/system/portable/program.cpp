#include "system/program.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include <memory>
#include <string_view>

extern "C" char** environ;

namespace warpmer::system {
namespace {

std::string resolved(const std::string& path) {
  const std::unique_ptr<char, decltype(&::free)> real(::realpath(path.c_str(), nullptr), &::free);
  return real ? real.get() : "";
}

/// Returns the first program of this name that the shell would find.
std::string found_on_path(const std::string& name) {
  const char* const variable = ::getenv("PATH");
  std::string_view folders = variable == nullptr ? "" : variable;
  while (!folders.empty()) {
    const std::string_view folder = folders.substr(0, folders.find(':'));
    folders.remove_prefix(folder.size() < folders.size() ? folder.size() + 1 : folder.size());
    std::string path(folder.empty() ? "." : folder);
    path += "/" + name;
    if (::access(path.c_str(), X_OK) == 0) return resolved(path);
  }
  return "";
}

}  // namespace

/// The dynamic linker knows by which path, or else by which name, it has been loaded.
std::string program_path() {
  Dl_info loaded{};
  if (::dladdr(reinterpret_cast<const void*>(&program_path), &loaded) == 0 || loaded.dli_fname == nullptr)
    return "";
  const std::string path = loaded.dli_fname;
  return path.find('/') == std::string::npos ? found_on_path(path) : resolved(path);
}

char** environment_variables() noexcept { return environ; }

}  // namespace warpmer::system
