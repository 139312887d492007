#include "cli/output/phase_track.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <tuple>

#include "cli/arguments/quantity.h"
#include "cli/framework/printable.h"

namespace warpmer::cli {
namespace {

std::string_view name_of(stats::MarkerState state) {
  switch (state) {
    case stats::MarkerState::same:
      return "Same";
    case stats::MarkerState::short_switch:
      return "Short";
    case stats::MarkerState::switched_back:
      return "SwitchBack";
    case stats::MarkerState::long_switch:
      return "Long";
  }
  return {};
}

/// Rounds as Java does: halves go up.
std::uint64_t rounded_up_halves(double value) { return static_cast<std::uint64_t>(std::floor(value + 0.5)); }

/// Returns the length of blocks such that those as long or longer are more than half of all bases.
std::uint64_t n50_of(const std::vector<SizedBlock>& falling, std::uint64_t bases) {
  std::uint64_t sum = 0;
  for (const SizedBlock& block : falling) {
    sum += block.bases;
    if (2 * sum > bases) return block.bases;
  }
  return 0;
}

}  // namespace

PhaseTrack::PhaseTrack(const MerquryFiles& files, std::size_t assembly, const stats::PhaseLimits& limits,
                       const PlotFormats& plots, std::uint32_t k, unsigned threads)
    : haps_{files.hapmers()[0], files.hapmers()[1]},
      first_column_(haps_[0] < haps_[1] ? 0 : 1),
      assembly_(files.assemblies()[assembly]),
      path_(files.path(assembly_)),
      prefix_(fmt::format("{}.{}_{}", path_, limits.switches, limits.range_bases)),
      switches_(prefix_ + ".switch.bed", threads),
      blocks_(prefix_ + ".phased_block.bed"),
      counts_(prefix_ + ".phased_block.counts"),
      statistics_(prefix_ + ".phased_block.stats"),
      block_sizes_(prefix_ + ".phased_block.sizes"),
      rate_(prefix_ + ".switches.txt"),
      depths_{DepthTrack(fmt::format("{}.{}.wig", path_, haps_[0]), k, threads),
              DepthTrack(fmt::format("{}.{}.wig", path_, haps_[1]), k, threads)},
      plots_(plots),
      phases_(limits, [this](const stats::PhaseBlock& block) { write_block(block); }) {
  counts_.print("Block\tRange\t{}\t{}\tSize\n", haps_[first_column_], haps_[1 - first_column_]);
}

void PhaseTrack::add(std::string_view name, std::span<const stats::HapMarker> markers, bool last) {
  const std::string shown = printable(std::string(name));
  if (!is_open_) {
    phases_.begin_sequence(shown);
    for (DepthTrack& depths : depths_) depths.begin_sequence(shown);
  }
  is_open_ = !last;
  for (const stats::HapMarker& marker : markers) {
    depths_[marker.hap].add(marker.start);
    const stats::MarkerState state = phases_.add(marker);
    switches_.print("{}\t{}\t{}\t{}\t{}\t{}\n", shown, marker.start, marker.end, haps_[marker.hap],
                    name_of(state), haps_[phases_.hap()]);
  }
  if (!last) return;
  for (DepthTrack& depths : depths_) depths.end_sequence();
}

void PhaseTrack::write_block(const stats::PhaseBlock& block) {
  const std::uint64_t thousandths = rounded_up_halves(1000 * static_cast<double>(block.switch_rate()));
  blocks_.print("{}\t{}\t{}\t{}\t{}.{:03}\t{}\t{}\n", block.sequence, block.start, block.end,
                haps_[block.hap], thousandths / 1000, thousandths % 1000, block.switches, block.markers);
  const std::uint64_t bases = block.end - block.start;
  const bool is_first = block.hap == first_column_;
  const std::uint64_t first = is_first ? block.markers : block.switches;
  const std::uint64_t second = is_first ? block.switches : block.markers;
  const std::string range = fmt::format("{}_{}_{}", block.sequence, block.start, block.end);
  counts_.print("{}\t{}\t{}\t{}\t{}\n", haps_[block.hap], range, first, second, bases);
  if (plots_.any()) blobs_.add({range, is_first ? 0u : 1u, first, second, bases});
  sizes_.push_back({bases, is_first ? 0u : 1u});
  all_bases_ += bases;
  all_switches_ += block.switches;
  all_markers_ += block.markers;
}

/// Writes them as `sort -nr -k3` leaves them: of equally large ones the last name comes first.
void PhaseTrack::write_sizes() {
  std::sort(sizes_.begin(), sizes_.end(), [](const SizedBlock& a, const SizedBlock& b) {
    return std::tie(b.bases, b.group) < std::tie(a.bases, a.group);
  });
  const std::vector<std::string> names = groups();
  for (const SizedBlock& block : sizes_)
    block_sizes_.print("block\t{}\t{}\n", names[block.group], block.bases);
}

void PhaseTrack::write_statistics() {
  const std::string rate = all_markers_ == 0
                               ? "na"
                               : fmt::format("{:.6g}%", 100.0 * static_cast<double>(all_switches_) /
                                                            static_cast<double>(all_markers_));
  const std::string sums = fmt::format("{}\t{}\t{}", all_switches_, all_markers_, rate);
  rate_.print("{} switch error rate (%) (Num. switches / Total markers found): {}\n", prefix_, sums);
  if (sizes_.empty()) {
    statistics_.print("{}\t0\t0\tna\tna\tna\tna\t{}\n", prefix_, sums);
    return;
  }
  // In as few bits as Merqury has it.
  const float average = static_cast<float>(all_bases_) / static_cast<float>(sizes_.size());
  statistics_.print("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", prefix_, with_thousands(sizes_.size()),
                    with_thousands(all_bases_), with_thousands(sizes_.back().bases),
                    with_thousands(rounded_up_halves(average)), with_thousands(n50_of(sizes_, all_bases_)),
                    with_thousands(sizes_.front().bases), sums);
}

void PhaseTrack::draw() {
  const std::vector<std::string> names = groups();
  write_plot(plots_, prefix_ + ".phased_block.blob",
             draw_blobs({"Hap-mers of phase blocks", names[0], names[1], names, blobs_.take(), blobs_.all()},
                        Svg::Frame::file));
  write_plot(plots_, path_ + ".block.N",
             draw_blocks({"Phase blocks of " + assembly_, names, sizes_}, Svg::Frame::file));
}

void PhaseTrack::finish() {
  phases_.finish();
  write_sizes();
  write_statistics();
  if (plots_.any()) draw();
  for (TextOutput* output : {&switches_, &blocks_, &counts_, &statistics_, &block_sizes_, &rate_})
    output->finish();
  for (DepthTrack& depths : depths_) depths.finish();
}

}  // namespace warpmer::cli
