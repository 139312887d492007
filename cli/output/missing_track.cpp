#include "cli/output/missing_track.h"

#include "cli/framework/printable.h"

namespace warpmer::cli {

void MissingTrack::add(std::string_view name, std::span<const MissingRun> runs, bool last) {
  const std::string shown = printable(std::string(name));
  if (!is_open_) depths_.begin_sequence(shown);
  is_open_ = !last;
  for (const MissingRun& run : runs) {
    for (std::uint64_t start = run.begin; start < run.end; ++start) {
      bed_.print("{}\t{}\t{}\n", shown, start, start + k_);
      depths_.add(start);
    }
  }
  if (last) depths_.end_sequence();
}

}  // namespace warpmer::cli
