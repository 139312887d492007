#include "backend/lookup/read_summary.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "backend/lookup/lookup.h"

namespace warpmer::backend {
namespace {

/// Stands for no k-mer among counts of this type, and is larger than every count.
template <class Count>
constexpr Count kNoKmerOf = std::numeric_limits<Count>::max();
static_assert(kNoKmerOf<std::uint64_t> == Profile::kNoKmer);
static_assert(kNoKmerOf<std::uint32_t> == Profile::kNarrowNoKmer);
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

/// Returns the same for counts below 2^16 - 1, by vectors of narrower lanes; larger ones are no k-mers.
template <class Count>
Count nth_smallest_of_small(std::span<const Count> counts, std::size_t rank, Count low, Count high) {
  thread_local std::vector<std::uint16_t> small;
  small.resize(counts.size());
  for (std::size_t i = 0; i < counts.size(); ++i)
    small[i] = static_cast<std::uint16_t>(std::min<Count>(counts[i], UINT16_MAX));
  return nth_smallest<std::uint16_t>(small, rank, static_cast<std::uint16_t>(low),
                                     static_cast<std::uint16_t>(high));
}

template <class Count>
ReadSummary summary_of(std::span<const Count> counts, bool wants_median) {
  Count kmers = 0, found = 0, largest = 0, smallest = kNoKmerOf<Count>;  // all in lanes of one width
  for (const Count count : counts) {
    const bool is_kmer = count != kNoKmerOf<Count>;
    kmers += is_kmer ? 1 : 0;
    found += is_kmer && count > 0 ? 1 : 0;
    smallest = std::min(smallest, count);
    largest = std::max(largest, is_kmer ? count : 0);
  }
  if (kmers == 0) return {};
  if (!wants_median) return {kmers, found, smallest, 0, largest};
  const std::size_t rank = (std::size_t{kmers} - 1) / 2;
  const Count median = largest < UINT16_MAX ? nth_smallest_of_small<Count>(counts, rank, smallest, largest)
                                            : nth_smallest<Count>(counts, rank, smallest, largest);
  return {kmers, found, smallest, median, largest};
}

}  // namespace

ReadSummary summarise(std::span<const std::uint64_t> counts, bool wants_median) {
  return summary_of(counts, wants_median);
}
ReadSummary summarise(std::span<const std::uint32_t> counts, bool wants_median) {
  return summary_of(counts, wants_median);
}

}  // namespace warpmer::backend
