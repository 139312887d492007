#pragma once
/// Pictures as PNG, by a module that is opened when one is to be made (png/png_module.cpp).

#include <string>

namespace warpmer::cli {

/// The module's function, and its name there. `error` says what went wrong; it is empty if nothing did.
using RenderPng = void (*)(const std::string& svg, std::string& png, std::string& error);
inline constexpr const char* kRenderPngSymbol = "warpmer_render_png";

/// ResourceError where no PNG can be made: to be asked before any work is done.
void check_png();

/// Returns a picture, which is SVG of a file, as PNG: three dots for each unit. ResourceError.
std::string png_of(const std::string& svg);

}  // namespace warpmer::cli
