#pragma once
/// Sizes of blocks, contigs and scaffolds, the largest first, over their share of all bases: Merqury's plots
/// of N*.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/pictures/svg.h"

namespace warpmer::cli {

struct SizedBlock {
  std::uint64_t bases = 0;
  std::size_t group = 0;
};

/// A column for each block, as high as its size, and as wide as its share.
struct BlockPlot {
  std::string title;
  std::vector<std::string> groups;
  std::vector<SizedBlock> blocks;  ///< the largest first
};

/// A line of steps for each kind of stretches.
struct ContinuityPlot {
  struct Curve {
    std::string name;
    std::vector<std::uint64_t> sizes;  ///< the largest first
  };
  std::string title;
  std::vector<Curve> curves;
};

/// Returns them as SVG. Columns and steps that are narrower than can be seen are joined, so that a picture of
/// any number of blocks has below 200 KB.
std::string draw_blocks(const BlockPlot& plot, Svg::Frame frame);
std::string draw_continuity(const ContinuityPlot& plot, Svg::Frame frame);

}  // namespace warpmer::cli
