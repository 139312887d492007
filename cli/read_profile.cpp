#include "cli/read_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/lookup.h"

namespace warpmer::cli {
namespace {

constexpr std::uint64_t kNoKmer = engine::Profile::kNoKmer;

}  // namespace

void add_to_tally(std::span<const std::uint64_t> counts, CountTally& tally) {
  // Neighbours mostly share their count: one look-up in the map per run of equal ones.
  for (std::size_t i = 0; i < counts.size();) {
    std::size_t end = i + 1;
    while (end < counts.size() && counts[end] == counts[i]) {
      ++end;
    }
    if (counts[i] != kNoKmer) {
      tally[counts[i]] += end - i;
    }
    i = end;
  }
}

ReadSummary summarise(const CountTally& tally) {
  ReadSummary summary;
  for (const auto& [count, kmers] : tally) {
    summary.kmers += kmers;
    summary.found += count > 0 ? kmers : 0;
  }
  if (summary.kmers == 0) {
    return summary;
  }
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

ReadSummary summarise(std::vector<std::uint64_t>& counts) {
  std::erase(counts, kNoKmer);
  ReadSummary summary;
  summary.kmers = counts.size();
  if (counts.empty()) {
    return summary;
  }
  summary.found = counts.size() - static_cast<std::size_t>(std::count(counts.begin(), counts.end(), 0u));
  const auto [smallest, largest] = std::minmax_element(counts.begin(), counts.end());
  summary.smallest = *smallest;
  summary.largest = *largest;
  const auto middle = counts.begin() + static_cast<std::ptrdiff_t>((counts.size() - 1) / 2);
  std::nth_element(counts.begin(), middle, counts.end());
  summary.median = *middle;
  return summary;
}

void append_summary_line(std::string& out, std::string_view name, const ReadSummary& summary) {
  auto end = std::back_inserter(out);
  if (summary.kmers == 0) {
    fmt::format_to(end, "{}\t0\t0\tNA\tNA\tNA\n", name);
    return;
  }
  fmt::format_to(end, "{}\t{}\t{}\t{}\t{}\t{}\n", name, summary.kmers, summary.found, summary.smallest,
                 summary.median, summary.largest);
}

void append_profile(std::string& out, std::string_view name, std::span<const std::uint64_t> counts,
                    bool first, bool last) {
  if (first) {
    out += name;
    out += '\t';
  }
  bool separate = !first;
  for (const std::uint64_t count : counts) {
    if (separate) {
      out += ' ';
    }
    separate = true;
    if (count == kNoKmer) {
      out += '.';
    } else {
      const fmt::format_int digits(count);
      out.append(digits.data(), digits.size());
    }
  }
  if (last) {
    out += '\n';
  }
}

std::string PartJoiner::add(ReadPart&& part) {
  for (const auto& [count, kmers] : part.tally) {
    tally_[count] += kmers;
  }
  std::string line;
  if (part.last) {
    append_summary_line(line, part.name, summarise(std::exchange(tally_, {})));
  }
  return line;
}

}  // namespace warpmer::cli
