#include "cli/output/depth_track.h"

namespace warpmer::cli {

void DepthTrack::write_depths(std::uint64_t position) {
  for (; next_base_ < position; ++next_base_) {
    while (!covering_.empty() && covering_.front() + k_ <= next_base_) covering_.pop_front();
    if (covering_.empty()) break;
    wig_.print("{}\t{}\n", next_base_ + 1, covering_.size());
  }
  next_base_ = position;
}

}  // namespace warpmer::cli
