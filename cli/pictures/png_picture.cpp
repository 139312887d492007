#include "cli/pictures/png_picture.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>

#include "base/error.h"
#include "file/program_module.h"

namespace warpmer::cli {
namespace {

constexpr const char* kPngModule = "warpmer_png.so";

RenderPng open_png_module() {
  const std::string path = file::program_module(kPngModule);
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
