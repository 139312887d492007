#include "cli/output/missing_track.h"

#include "cli/framework/printable.h"

namespace warpmer::cli {

void MissingTrack::add(std::string_view name, std::span<const std::uint64_t> starts, bool last) {
  const std::string shown = printable(std::string(name));
  if (!is_open_) wig_.print("variableStep chrom={}\n", shown);
  is_open_ = !last;
  for (const std::uint64_t start : starts) {
    bed_.print("{}\t{}\t{}\n", shown, start, start + k_);
    write_depths(start);
    covering_.push_back(start);
  }
  if (!last) return;
  write_depths(UINT64_MAX);
  next_base_ = 0;
}

void MissingTrack::write_depths(std::uint64_t position) {
  for (; next_base_ < position; ++next_base_) {
    while (!covering_.empty() && covering_.front() + k_ <= next_base_) covering_.pop_front();
    if (covering_.empty()) break;
    wig_.print("{}\t{}\n", next_base_ + 1, covering_.size());
  }
  next_base_ = position;
}

}  // namespace warpmer::cli
