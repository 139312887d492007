#include "cli/pictures/png_picture.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

#include "base/error.h"

namespace warpmer::cli {
namespace {

constexpr const char* kPngModule = "warpmer_png.so";

/// Returns the path of a module beside the program, or where it is installed with it; empty if it is not
/// there.
std::filesystem::path path_of_module(const char* name) {
  std::error_code error;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {".", "../lib/warpmer", "../lib64/warpmer", "../lib/x86_64-linux-gnu/warpmer",
                            "../lib/aarch64-linux-gnu/warpmer"}) {
    std::filesystem::path path = (folder / place / name).lexically_normal();
    if (std::filesystem::exists(path, error)) return path;
  }
  return {};
}

RenderPng open_png_module() {
  const std::filesystem::path path = path_of_module(kPngModule);
  if (path.empty()) {
    throw ResourceError(fmt::format(
        "PNG needs the module {}, which is not beside this warpmer; install it (the package warpmer-png, or "
        "build where librsvg is installed), or write SVG",
        kPngModule));
  }
  void* const module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const function = module == nullptr ? nullptr : ::dlsym(module, kRenderPngSymbol);
  if (function == nullptr) {
    throw ResourceError(
        fmt::format("the module for PNG cannot be opened ({}); install librsvg, or write SVG", ::dlerror()));
  }
  return reinterpret_cast<RenderPng>(function);
}

RenderPng png_function() {
  static const RenderPng function = open_png_module();
  return function;
}

}  // namespace

void check_png() { png_function(); }

std::string png_of(const std::string& svg) {
  std::string png, error;
  png_function()(svg, png, error);
  if (!error.empty()) throw ResourceError("a picture could not be made PNG: " + error);
  return png;
}

}  // namespace warpmer::cli
