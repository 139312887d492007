#pragma once
/// The files of a picture: what `--svg` and `--png` name.

#include <optional>
#include <string>

#include "cli/framework/text_output.h"

namespace warpmer::cli {

struct PicturePaths {
  std::string svg, png;  ///< empty: none
};

/// UsageError for names that promise something else; ResourceError where no PNG can be made.
void check_pictures(const PicturePaths& paths);

class PictureFiles {
 public:
  /// ResourceError for a path that cannot be written.
  explicit PictureFiles(const PicturePaths& paths);

  /// Returns true when there are some: else nothing need be drawn.
  [[nodiscard]] bool any() const { return svg_ || png_; }
  /// Writes a picture, which is SVG of a file, to all of them, and finishes them.
  void write(const std::string& svg);

 private:
  std::optional<TextOutput> svg_, png_;
};

}  // namespace warpmer::cli
