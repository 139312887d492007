#include "cli/pictures/picture_files.h"

#include "cli/pictures/png_picture.h"
#include "formats/text/ending.h"

namespace warpmer::cli {

void check_pictures(const PicturePaths& paths) {
  formats::check_ending(paths.svg, {formats::Content::svg});
  formats::check_ending(paths.png, {formats::Content::png});
  if (!paths.png.empty()) check_png();
}

PictureFiles::PictureFiles(const PicturePaths& paths) {
  if (!paths.svg.empty()) svg_.emplace(paths.svg);
  if (!paths.png.empty()) png_.emplace(paths.png);
}

void PictureFiles::write(const std::string& svg) {
  if (svg_) {
    svg_->write(svg);
    svg_->finish();
  }
  if (png_) {
    png_->write(png_of(svg));
    png_->finish();
  }
}

}  // namespace warpmer::cli
