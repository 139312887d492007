#include "cli/output/missing_track.h"

#include "cli/framework/printable.h"

namespace warpmer::cli {

void MissingTrack::add(std::string_view name, std::span<const std::uint64_t> starts, bool last) {
  const std::string shown = printable(std::string(name));
  if (!is_open_) depths_.begin_sequence(shown);
  is_open_ = !last;
  for (const std::uint64_t start : starts) {
    bed_.print("{}\t{}\t{}\n", shown, start, start + k_);
    depths_.add(start);
  }
  if (last) depths_.end_sequence();
}

}  // namespace warpmer::cli
