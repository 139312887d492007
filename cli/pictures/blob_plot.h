#pragma once
/// Sequences as circles, by how many k-mers of two sets they have: Merqury's blob plot.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/pictures/svg.h"

namespace warpmer::cli {

struct Blob {
  std::string name;
  std::size_t group = 0;
  std::uint64_t x = 0, y = 0;  ///< k-mers of either set
  std::uint64_t size = 0;      ///< its area
};

/// The largest of many; of equal ones those that come first.
class LargestBlobs {
 public:
  /// So many circles can be told apart, and make a file of a few megabytes.
  static constexpr std::size_t kMost = 10000;

  void add(Blob blob);
  /// Returns them, the largest first.
  [[nodiscard]] std::vector<Blob> take();
  /// Returns how many there were.
  [[nodiscard]] std::uint64_t all() const { return all_; }

 private:
  struct Ranked {
    Blob blob;
    std::uint64_t ordinal = 0;
  };
  void keep_largest();

  std::vector<Ranked> kept_;
  std::uint64_t all_ = 0;
};

struct BlobPlot {
  std::string title;
  std::string x_name, y_name;
  std::vector<std::string> groups;  ///< up to two
  std::vector<Blob> blobs;          ///< the largest first, so that it hides none
  std::uint64_t all = 0;            ///< as many there are; `blobs` are the largest of them
};

/// Returns it as SVG. Both axes have the same scale.
std::string draw_blobs(const BlobPlot& plot, Svg::Frame frame);

}  // namespace warpmer::cli
