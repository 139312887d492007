#include "cli/output/phase_track.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string_view>
#include <utility>

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
std::uint64_t n50_of(const std::vector<std::uint64_t>& falling, std::uint64_t bases) {
  std::uint64_t sum = 0;
  for (const std::uint64_t length : falling) {
    sum += length;
    if (2 * sum > bases) return length;
  }
  return 0;
}

}  // namespace

PhaseTrack::PhaseTrack(const std::string& prefix, const stats::PhaseLimits& limits,
                       std::array<std::string, 2> haps, const PlotFormats& plots, unsigned threads)
    : haps_(std::move(haps)),
      first_column_(haps_[0] < haps_[1] ? 0 : 1),
      prefix_(fmt::format("{}.{}_{}", prefix, limits.switches, limits.range_bases)),
      switches_(prefix_ + ".switch.bed", threads),
      blocks_(prefix_ + ".phased_block.bed"),
      counts_(prefix_ + ".phased_block.counts"),
      statistics_(prefix_ + ".phased_block.stats"),
      rate_(prefix_ + ".switches.txt"),
      plots_(plots),
      phases_(limits, [this](const stats::PhaseBlock& block) { write_block(block); }) {
  counts_.print("Block\tRange\t{}\t{}\tSize\n", haps_[first_column_], haps_[1 - first_column_]);
}

void PhaseTrack::add(std::string_view name, std::span<const stats::HapMarker> markers, bool last) {
  const std::string shown = printable(std::string(name));
  if (!is_open_) phases_.begin_sequence(shown);
  is_open_ = !last;
  for (const stats::HapMarker& marker : markers) {
    const stats::MarkerState state = phases_.add(marker);
    switches_.print("{}\t{}\t{}\t{}\t{}\t{}\n", shown, marker.start, marker.end, haps_[marker.hap],
                    name_of(state), haps_[phases_.hap()]);
  }
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
  lengths_.push_back(bases);
  all_switches_ += block.switches;
  all_markers_ += block.markers;
}

void PhaseTrack::write_statistics() {
  const std::string rate = all_markers_ == 0
                               ? "na"
                               : fmt::format("{:.6g}%", 100.0 * static_cast<double>(all_switches_) /
                                                            static_cast<double>(all_markers_));
  const std::string sums = fmt::format("{}\t{}\t{}", all_switches_, all_markers_, rate);
  rate_.print("{} switch error rate (%) (Num. switches / Total markers found): {}\n", prefix_, sums);
  if (lengths_.empty()) {
    statistics_.print("{}\t0\t0\tna\tna\tna\tna\t{}\n", prefix_, sums);
    return;
  }
  std::sort(lengths_.begin(), lengths_.end(), std::greater<>());
  const std::uint64_t bases = std::accumulate(lengths_.begin(), lengths_.end(), std::uint64_t{0});
  // In as few bits as Merqury has it.
  const float average = static_cast<float>(bases) / static_cast<float>(lengths_.size());
  statistics_.print("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", prefix_, with_thousands(lengths_.size()),
                    with_thousands(bases), with_thousands(lengths_.back()),
                    with_thousands(rounded_up_halves(average)), with_thousands(n50_of(lengths_, bases)),
                    with_thousands(lengths_.front()), sums);
}

void PhaseTrack::finish() {
  phases_.finish();
  write_statistics();
  if (plots_.any()) {
    const std::string &first = haps_[first_column_], &second = haps_[1 - first_column_];
    write_plot(
        plots_, prefix_ + ".phased_block.blob",
        draw_blobs({"Hap-mers of phase blocks", first, second, {first, second}, blobs_.take(), blobs_.all()},
                   Svg::Frame::file));
  }
  for (TextOutput* output : {&switches_, &blocks_, &counts_, &statistics_, &rate_}) output->finish();
}

}  // namespace warpmer::cli
