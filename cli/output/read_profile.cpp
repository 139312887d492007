#include "cli/output/read_profile.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "backend/lookup/lookup.h"
#include "cli/arguments/quantity.h"

namespace warpmer::cli {
namespace {

constexpr std::uint64_t kNoKmer = backend::Profile::kNoKmer;
static_assert(kNoKmer == UINT64_MAX);  // larger than every count
constexpr std::size_t kCountsAtOnce = 32768;

/// The value at `rank` if `counts` were in order, which is one of `low` to `high`: that range is halved as
/// often as it takes. Nothing is moved and no branch depends on a count, so that all of it is vector code;
/// what a selection by exchanging takes, of some hundred counts, is branches that are predicted wrongly.
template <class Count>
Count nth_smallest(std::span<const Count> counts, std::size_t rank, Count low, Count high) {
  while (low < high) {
    const auto middle = static_cast<Count>(low + (high - low) / 2);
    std::size_t up_to_middle = 0;
    // As many at a time as their number, a Count, can say: it is added up in as narrow lanes.
    for (std::size_t begin = 0; begin < counts.size(); begin += kCountsAtOnce) {
      const auto some = counts.subspan(begin, std::min(kCountsAtOnce, counts.size() - begin));
      Count here = 0;
      for (const Count count : some) here = static_cast<Count>(here + (count <= middle ? 1 : 0));
      up_to_middle += here;
    }
    if (up_to_middle > rank) {
      high = middle;
    } else {
      low = static_cast<Count>(middle + 1);
    }
  }
  return low;
}

/// Returns the same for counts below 2^16 - 1, by vectors of four times as many; larger ones are no k-mers.
std::uint64_t nth_smallest_of_small(std::span<const std::uint64_t> counts, std::size_t rank,
                                    std::uint64_t low, std::uint64_t high) {
  thread_local std::vector<std::uint16_t> small;
  small.resize(counts.size());
  for (std::size_t i = 0; i < counts.size(); ++i)
    small[i] = static_cast<std::uint16_t>(std::min<std::uint64_t>(counts[i], UINT16_MAX));
  return nth_smallest<std::uint16_t>(small, rank, static_cast<std::uint16_t>(low),
                                     static_cast<std::uint16_t>(high));
}

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

ReadSummary summarise(std::span<const std::uint64_t> counts) {
  ReadSummary summary;
  std::uint64_t smallest = kNoKmer;
  for (const std::uint64_t count : counts) {
    const bool is_kmer = count != kNoKmer;
    summary.kmers += is_kmer ? 1 : 0;
    summary.found += is_kmer && count > 0 ? 1 : 0;
    smallest = std::min(smallest, count);
    summary.largest = std::max(summary.largest, is_kmer ? count : 0);
  }
  if (summary.kmers == 0) {
    return summary;
  }
  summary.smallest = smallest;
  const std::uint64_t rank = (summary.kmers - 1) / 2;
  summary.median = summary.largest < UINT16_MAX
                       ? nth_smallest_of_small(counts, rank, smallest, summary.largest)
                       : nth_smallest<std::uint64_t>(counts, rank, smallest, summary.largest);
  return summary;
}

void append_summary_line(std::string& out, std::string_view name, const ReadSummary& summary) {
  out += name;
  if (summary.kmers == 0) {
    out += "\t0\t0\tNA\tNA\tNA\n";
    return;
  }
  for (const std::uint64_t number :
       {summary.kmers, summary.found, summary.smallest, summary.median, summary.largest}) {
    out += '\t';
    append_number(out, number);
  }
  out += '\n';
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
      append_number(out, count);
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
