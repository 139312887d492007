#include "cli/pictures/png_picture.h"

#include <string>

#include "base/error.h"
#include "file/program_module.h"

namespace warpmer::cli {
namespace {

constexpr file::ProgramModule kPngModule{.name = "warpmer_png.so",
                                         .subject = "PNG",
                                         .symbol = kRenderPngSymbol,
                                         .library = "librsvg",
                                         .package = "warpmer-png",
                                         .instead = "write SVG"};

RenderPng png_function() {
  static const auto render = reinterpret_cast<RenderPng>(file::module_function(kPngModule));
  return render;
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
