#pragma once
/// How long an assembly's sequences are, with gaps and between them, as Merqury's block_n_stats.sh tells it.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output/merqury_files.h"
#include "cli/pictures/block_plot.h"

namespace warpmer::cli {

/// Bases of a sequence without a gap, from 0; `end` is behind the last.
struct GaplessStretch {
  std::uint64_t begin = 0, end = 0;
};

/// Returns the stretches of some bases, the first of which has a position; every N is a gap.
std::vector<GaplessStretch> gapless_stretches(std::string_view bases, std::uint64_t first_base);

/// Keeps a number for each sequence and for each contig. Sequences come in order, in any number of parts.
class SequenceSizes {
 public:
  /// Adds what follows the parts before; the sequence is `end` bases long by now.
  void add(std::span<const GaplessStretch> stretches, std::uint64_t end, bool last);
  /// Ends; nothing may be added any more. Writes `.contig.sizes` and, if there are gaps, `.scaff.sizes`.
  void write(const std::string& prefix, const std::string& assembly, unsigned threads);
  /// Draws `.continuity.N`, of phase blocks, contigs and sequences.
  void draw(const PlotFormats& formats, const std::string& prefix, const std::string& assembly,
            const std::vector<SizedBlock>& blocks) const;

 private:
  [[nodiscard]] bool has_gaps() const { return bases_ > gapless_bases_; }

  std::vector<std::uint64_t> sequences_, contigs_;
  std::uint64_t bases_ = 0, gapless_bases_ = 0;
  GaplessStretch open_;  ///< one that may go on in the next part
};

}  // namespace warpmer::cli
