#pragma once
/// A read's k-mers in five numbers.

#include <cstdint>
#include <span>

namespace warpmer::backend {

/// The numbers of one read, over all its k-mers: absent ones count as 0, and positions whose k-mer contains a
/// break do not count.
struct ReadSummary {
  std::uint64_t kmers = 0;
  std::uint64_t found = 0;
  std::uint64_t smallest = 0;
  std::uint64_t median = 0;  ///< the lower of the two in the middle
  std::uint64_t largest = 0;

  bool operator==(const ReadSummary&) const = default;
};

/// Sum up the counts of a read, as a Profile has them: the exact ones, or narrow ones without a large one. A
/// median that is not wanted is 0.
ReadSummary summarise(std::span<const std::uint64_t> counts, bool wants_median = true);
ReadSummary summarise(std::span<const std::uint32_t> counts, bool wants_median = true);

}  // namespace warpmer::backend
