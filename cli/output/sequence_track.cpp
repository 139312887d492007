#include "cli/output/sequence_track.h"

#include <fmt/compile.h>

#include <array>

#include "backend/lookup/lookup.h"

namespace warpmer::cli {
namespace {

using TrackFormat = TrackRule::TrackFormat;

bool is_in_track(const TrackRule& rule, std::uint64_t count) {
  if (count == backend::Profile::kNoKmer) return false;
  return rule.format == TrackFormat::bedgraph || rule.found.contains(count);
}

TrackInterval interval_of(const TrackRule& rule, std::uint64_t position, std::uint64_t count) {
  if (rule.format == TrackFormat::bedgraph) return {position, position + 1, count};
  return {position, position + rule.k, 0};
}

bool goes_on(const TrackInterval& interval, const TrackInterval& next) {
  return next.begin <= interval.end && next.count == interval.count;
}

void append_line(std::string& out, std::string_view name, const TrackInterval& interval, TrackFormat format) {
  std::array<char, 3 * sizeof("\t18446744073709551615")> columns;
  const char* const end =
      format == TrackFormat::bedgraph
          ? fmt::format_to(columns.data(), FMT_COMPILE("\t{}\t{}\t{}\n"), interval.begin, interval.end,
                           interval.count)
          : fmt::format_to(columns.data(), FMT_COMPILE("\t{}\t{}\n"), interval.begin, interval.end);
  out.append(name).append(columns.data(), static_cast<std::size_t>(end - columns.data()));
}

}  // namespace

TrackPart make_track_part(const TrackRule& rule, std::string_view name, std::span<const std::uint64_t> counts,
                          std::uint64_t first_base, bool last, std::size_t likely_bytes) {
  TrackPart part{std::string(name), {}, {}, {}, last};
  part.between.reserve(likely_bytes);
  std::optional<TrackInterval> open;
  const auto close = [&] {
    if (!part.first) {
      part.first = open;
      return;
    }
    if (part.final) append_line(part.between, name, *part.final, rule.format);
    part.final = open;
  };
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (!is_in_track(rule, counts[i])) continue;
    const TrackInterval next = interval_of(rule, first_base + i, counts[i]);
    if (open && goes_on(*open, next)) {
      open->end = next.end;
      continue;
    }
    if (open) close();
    open = next;
  }
  if (open) close();
  return part;
}

void TrackJoiner::add(const TrackPart& part, const Write& write) {
  if (part.first && open_ && goes_on(*open_, *part.first)) {
    open_->end = part.first->end;
  } else if (part.first) {
    flush(part.name, write);
    open_ = part.first;
  }
  if (part.final) {
    flush(part.name, write);
    write(part.between);
    open_ = part.final;
  }
  if (part.last) flush(part.name, write);
}

void TrackJoiner::flush(std::string_view name, const Write& write) {
  if (!open_) return;
  std::string line;
  append_line(line, name, *open_, format_);
  open_.reset();
  write(line);
}

}  // namespace warpmer::cli
