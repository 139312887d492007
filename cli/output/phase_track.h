#pragma once
/// Phase blocks of an assembly and statistics of its switches, as Merqury's files.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/framework/text_output.h"
#include "cli/output/depth_track.h"
#include "cli/output/merqury_files.h"
#include "cli/pictures/blob_plot.h"
#include "cli/pictures/block_plot.h"
#include "stats/phase_blocks.h"

namespace warpmer::cli {

/// Writes `.switch.bed`, a line for each hap-mer, `.phased_block.bed` and `.phased_block.counts`, one for
/// each block, and, at the end, `.phased_block.stats`, `.phased_block.sizes`, `.switches.txt` and the picture
/// `.phased_block.blob`; and, without the limits in their names, a `.wig` of each haplotype and the picture
/// `.block.N`. Sequences come in order, each with its markers, in any number of parts. Keeps two numbers for
/// each block.
class PhaseTrack {
 public:
  /// Makes the track of an assembly, by the two sets of hap-mers. Names are the assembly's; limits are put
  /// behind it.
  PhaseTrack(const MerquryFiles& files, std::size_t assembly, const stats::PhaseLimits& limits,
             const PlotFormats& plots, std::uint32_t k, unsigned threads);

  /// Adds markers of a sequence. With the `last` ones it is complete.
  void add(std::string_view name, std::span<const stats::HapMarker> markers, bool last);
  void finish();
  /// Returns all blocks, after `finish`: the largest first, and by haplotype, in alphabetical order.
  [[nodiscard]] const std::vector<SizedBlock>& blocks() const { return sizes_; }

 private:
  /// Returns the names of haplotypes, in alphabetical order.
  [[nodiscard]] std::vector<std::string> groups() const {
    return {haps_[first_column_], haps_[1 - first_column_]};
  }
  void write_block(const stats::PhaseBlock& block);
  void write_sizes();
  void write_statistics();
  void draw();

  std::array<std::string, 2> haps_;
  std::size_t first_column_;     ///< the haplotype whose name comes first in the alphabet
  std::string assembly_, path_;  ///< its name, and with the folder
  std::string prefix_;           ///< with limits
  TextOutput switches_, blocks_, counts_, statistics_, block_sizes_, rate_;
  std::array<DepthTrack, 2> depths_;
  PlotFormats plots_;
  LargestBlobs blobs_;
  stats::PhaseBlocks phases_;
  bool is_open_ = false;  ///< a sequence has begun
  std::vector<SizedBlock> sizes_;
  std::uint64_t all_bases_ = 0, all_switches_ = 0, all_markers_ = 0;
};

}  // namespace warpmer::cli
