#include "cli/output/sequence_sizes.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "cli/framework/text_output.h"

namespace warpmer::cli {
namespace {

void write_lengths(const std::string& path, std::string_view type, const std::string& assembly,
                   const std::vector<std::uint64_t>& lengths, unsigned threads) {
  TextOutput output(path, threads);
  for (const std::uint64_t length : lengths) output.print("{}\t{}\t{}\n", type, assembly, length);
  output.finish();
}

}  // namespace

std::vector<GaplessStretch> gapless_stretches(std::string_view bases, std::uint64_t first_base) {
  constexpr std::string_view kGap = "Nn";
  std::vector<GaplessStretch> stretches;
  for (std::size_t begin = 0; (begin = bases.find_first_not_of(kGap, begin)) != std::string_view::npos;) {
    const std::size_t end = std::min(bases.find_first_of(kGap, begin), bases.size());
    stretches.push_back({first_base + begin, first_base + end});
    begin = end;
  }
  return stretches;
}

void SequenceSizes::add(std::span<const GaplessStretch> stretches, std::uint64_t end, bool last) {
  const auto close = [this] {
    if (open_.end > open_.begin) contigs_.push_back(open_.end - open_.begin);
  };
  for (const GaplessStretch& stretch : stretches) {
    gapless_bases_ += stretch.end - stretch.begin;
    if (open_.end > 0 && stretch.begin == open_.end) {
      open_.end = stretch.end;
      continue;
    }
    close();
    open_ = stretch;
  }
  if (!last) return;
  close();
  open_ = {};
  sequences_.push_back(end);
  bases_ += end;
}

void SequenceSizes::write(const std::string& prefix, const std::string& assembly, unsigned threads) {
  // Without gaps sequences are contigs, even those without bases.
  if (!has_gaps()) contigs_ = sequences_;
  for (std::vector<std::uint64_t>* lengths : {&sequences_, &contigs_})
    std::sort(lengths->begin(), lengths->end(), std::greater<>());
  write_lengths(prefix + ".contig.sizes", "contig", assembly, contigs_, threads);
  if (has_gaps()) write_lengths(prefix + ".scaff.sizes", "scaffold", assembly, sequences_, threads);
}

void SequenceSizes::draw(const PlotFormats& formats, const std::string& prefix, const std::string& assembly,
                         const std::vector<SizedBlock>& blocks) const {
  if (!formats.any()) return;
  ContinuityPlot plot{"Sizes in " + assembly, {}};
  std::vector<std::uint64_t> lengths;
  lengths.reserve(blocks.size());
  for (const SizedBlock& block : blocks) lengths.push_back(block.bases);
  plot.curves.push_back({"phase blocks", std::move(lengths)});
  plot.curves.push_back({"contigs", contigs_});
  if (has_gaps()) plot.curves.push_back({"scaffolds", sequences_});
  write_plot(formats, prefix + ".continuity.N", draw_continuity(plot, Svg::Frame::file));
}

}  // namespace warpmer::cli
