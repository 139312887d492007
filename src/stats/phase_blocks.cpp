#include "stats/phase_blocks.h"

#include <utility>

namespace warpmer::stats {

void PhaseBlocks::start_sequence(const HapMarker& marker) {
  block_.markers -= row_;
  take(block_);
  if (row_ > 0) take({block_.sequence, row_start_, row_end_, marker.hap, block_.switches, row_});
  row_ = 0;
  block_ = {next_name_, marker.start, marker.end, marker.hap, 0, 1};
  is_first_ = false;
}

MarkerState PhaseBlocks::add(const HapMarker& marker) {
  last_end_ = marker.end;
  if (is_first_) {
    start_sequence(marker);
    return MarkerState::same;
  }
  ++block_.markers;
  if (marker.hap == block_.hap) {
    block_.end = marker.end;
    block_.switches += row_;
    return std::exchange(row_, 0) > 0 ? MarkerState::switched_back : MarkerState::same;
  }
  if (row_ == 0) row_start_ = marker.start;
  row_end_ = marker.end;
  ++row_;
  // The first switch is short by all means.
  if (row_ == 1 || (row_ < limits_.switches && row_end_ - row_start_ <= limits_.range_bases))
    return MarkerState::short_switch;
  block_.markers -= row_;
  take(block_);
  block_ = {std::move(block_.sequence), row_start_, marker.end, marker.hap, 0, std::exchange(row_, 0)};
  return MarkerState::long_switch;
}

void PhaseBlocks::finish() {
  block_.end = last_end_;
  take(block_);
}

}  // namespace warpmer::stats
