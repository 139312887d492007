#include "cli/output/read_profile.h"

#include <utility>

#include "backend/lookup/lookup.h"
#include "backend/lookup/summary_line.h"
#include "cli/arguments/quantity.h"

namespace warpmer::cli {
namespace {

constexpr std::uint64_t kNoKmer = backend::Profile::kNoKmer;

}  // namespace

void add_to_tally(std::span<const std::uint64_t> counts, CountTally& tally) {
  // Neighbours mostly share their count: one look-up in the map per run of equal ones.
  for (std::size_t i = 0; i < counts.size();) {
    std::size_t end = i + 1;
    while (end < counts.size() && counts[end] == counts[i]) ++end;
    if (counts[i] != kNoKmer) tally[counts[i]] += end - i;
    i = end;
  }
}

backend::ReadSummary summarise(const CountTally& tally) {
  backend::ReadSummary summary;
  for (const auto& [count, kmers] : tally) {
    summary.kmers += kmers;
    summary.found += count > 0 ? kmers : 0;
  }
  if (summary.kmers == 0) return summary;
  summary.smallest = tally.begin()->first;
  summary.largest = tally.rbegin()->first;
  std::uint64_t before = 0;
  for (const auto& [count, kmers] : tally) {
    before += kmers;
    if (before > (summary.kmers - 1) / 2) {
      summary.median = count;
      break;
    }
  }
  return summary;
}

void append_summary_line(std::string& out, std::string_view name, const backend::ReadSummary& summary) {
  out += name;
  const std::size_t begin = out.size();
  out.resize(begin + backend::summary_bytes(summary));
  backend::write_summary(summary, out.data() + begin);
}

void append_profile(std::string& out, std::string_view name, std::span<const std::uint64_t> counts,
                    bool first, bool last) {
  if (first) {
    out += name;
    out += '\t';
  }
  bool separate = !first;
  for (const std::uint64_t count : counts) {
    if (separate) out += ' ';
    separate = true;
    if (count == kNoKmer) {
      out += '.';
    } else {
      append_number(out, count);
    }
  }
  if (last) out += '\n';
}

std::string PartJoiner::add(ReadPart&& part) {
  for (const auto& [count, kmers] : part.tally) tally_[count] += kmers;
  std::string line;
  if (part.last) append_summary_line(line, part.name, summarise(std::exchange(tally_, {})));
  return line;
}

}  // namespace warpmer::cli
