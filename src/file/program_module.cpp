#include "file/program_module.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "base/error.h"
#include "system/program.h"

namespace warpmer::file {
namespace {

/// Returns the path of a module; empty if there is none.
std::string module_path(const char* name) {
  std::error_code error;
  const auto folder = std::filesystem::path(system::program_path()).parent_path();
  if (folder.empty()) return {};  // else the working folder would be looked at
  for (const char* place : {".", "../lib/warpmer", "../lib64/warpmer", "../lib/x86_64-linux-gnu/warpmer",
                            "../lib/aarch64-linux-gnu/warpmer", WARPMER_MODULES_FOLDER}) {
    const std::filesystem::path path = (folder / place / name).lexically_normal();
    if (std::filesystem::exists(path, error)) return path.string();
  }
  return {};
}

[[noreturn]] void fail_absent(const ProgramModule& module, const std::string& need) {
  const std::string package =
      module.package == nullptr ? "" : fmt::format("the package {}, or ", module.package);
  throw ResourceError(fmt::format(
      "{} needs the module {}, which is not beside this warpmer; install it ({}build where {} is installed), "
      "or {}",
      need.empty() ? module.subject : need, module.name, package, module.library, module.instead));
}

}  // namespace

void* module_function(const ProgramModule& module, const std::string& need) {
  const std::string path = module_path(module.name);
  if (path.empty()) fail_absent(module, need);
  void* const opened = ::dlopen(path.c_str(), RTLD_NOW | (module.is_global ? RTLD_GLOBAL : RTLD_LOCAL));
  if (opened == nullptr) {
    throw ResourceError(
        fmt::format("the module for {} cannot be opened ({}); install the {} that it was built with, or {}",
                    module.subject, ::dlerror(), module.library, module.instead));
  }
  void* const function = ::dlsym(opened, module.symbol);
  if (function == nullptr)
    throw ResourceError(fmt::format("{} is of another version of warpmer; install that of this one", path));
  return function;
}

}  // namespace warpmer::file
