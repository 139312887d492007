#include "cli/pictures/png_picture.h"

#include <fmt/format.h>

#include <string>

#include "base/error.h"
#include "file/program_module.h"

namespace warpmer::cli {
namespace {

constexpr file::ProgramModule kPngModule{"warpmer_png.so", "PNG", kRenderPngSymbol,
                                         "install librsvg, or write SVG"};

RenderPng open_png_module() {
  const auto render = reinterpret_cast<RenderPng>(file::module_function(kPngModule));
  if (render == nullptr) {
    throw ResourceError(fmt::format(
        "PNG needs the module {}, which is not beside this warpmer; install it (the package warpmer-png, or "
        "build where librsvg is installed), or write SVG",
        kPngModule.name));
  }
  return render;
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
