#include "backend/lookup/read_summary.h"

#include <algorithm>
#include <vector>

#include "backend/lookup/lookup.h"

namespace warpmer::backend {
namespace {

constexpr std::uint64_t kNoKmer = Profile::kNoKmer;
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

}  // namespace warpmer::backend
