// Rasterises SVG with librsvg and cairo. This is a module of its own, warpmer_png.so, so that the program
// needs neither.

#include <librsvg/rsvg.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "cli/pictures/png_picture.h"

namespace warpmer::cli {
namespace {

/// Fits text on screens, and in print as wide as a column.
constexpr double kDotsForUnit = 3;
/// Cairo has no images with longer sides than twice this.
constexpr double kMostDots = 16000;

struct Unref {
  void operator()(void* object) const { g_object_unref(object); }
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  void operator()(cairo_t* context) const { cairo_destroy(context); }
};
template <typename T>
using Owned = std::unique_ptr<T, Unref>;

std::string message_of(GError* error) {
  std::string message = error == nullptr ? "unknown error" : error->message;
  g_clear_error(&error);
  return message;
}

cairo_status_t append(void* out, const unsigned char* data, unsigned length) {
  static_cast<std::string*>(out)->append(reinterpret_cast<const char*>(data), length);
  return CAIRO_STATUS_SUCCESS;
}

/// Returns what went wrong; empty if nothing did.
std::string render(const std::string& svg, std::string& png) {
  GError* error = nullptr;
  const Owned<GInputStream> stream(
      g_memory_input_stream_new_from_data(svg.data(), static_cast<gssize>(svg.size()), nullptr));
  const Owned<RsvgHandle> handle(
      rsvg_handle_new_from_stream_sync(stream.get(), nullptr, RSVG_HANDLE_FLAG_UNLIMITED, nullptr, &error));
  if (!handle) return message_of(error);
  double width = 0, height = 0;
  if (!rsvg_handle_get_intrinsic_size_in_pixels(handle.get(), &width, &height)) return "it has no size";
  const double scale = std::min(kDotsForUnit, kMostDots / std::max({width, height, 1.0}));
  const Owned<cairo_surface_t> surface(
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(std::lround(width * scale)),
                                 static_cast<int>(std::lround(height * scale))));
  const Owned<cairo_t> context(cairo_create(surface.get()));
  const RsvgRectangle viewport{0, 0, width * scale, height * scale};
  if (!rsvg_handle_render_document(handle.get(), context.get(), &viewport, &error)) return message_of(error);
  const cairo_status_t status = cairo_surface_write_to_png_stream(surface.get(), append, &png);
  return status == CAIRO_STATUS_SUCCESS ? std::string() : cairo_status_to_string(status);
}

}  // namespace
}  // namespace warpmer::cli

extern "C" __attribute__((visibility("default"))) void warpmer_render_png(const std::string& svg,
                                                                          std::string& png,
                                                                          std::string& error) {
  error = warpmer::cli::render(svg, png);
}
