#pragma once
/// Judges a read by the counts of its k-mers: whether to keep it, and which of its bases.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "backend/indexes/set_session.h"
#include "backend/lookup/lookup.h"

namespace warpmer::jobs {

/// The k-mers of a read; positions whose k-mer contains a break have none.
struct ReadKmers {
  std::uint64_t kmers = 0;
  std::uint64_t found = 0;
  /// Returns 0 for a read without k-mers.
  [[nodiscard]] double fraction() const noexcept {
    return kmers == 0 ? 0 : static_cast<double>(found) / static_cast<double>(kmers);
  }
};

/// Says which reads pass.
struct ReadRule {
  backend::CountBounds counts;  ///< bounds of the counts of k-mers that are found
  std::uint64_t min_kmers = 0;
  std::uint64_t max_kmers = UINT64_MAX;
  double min_fraction = 0;
  double max_fraction = 1;

  [[nodiscard]] bool is_found(std::uint64_t count) const noexcept {
    return count != backend::Profile::kNoKmer && counts.contains(count);
  }
  [[nodiscard]] bool passes(const ReadKmers& read) const noexcept {
    return read.found >= min_kmers && read.found <= max_kmers && read.fraction() >= min_fraction &&
           read.fraction() <= max_fraction;
  }
};

/// Makes every k-mer that has a base of low quality a break. `counts` are those of a read, one for every
/// start.
void break_at_low_quality(std::span<std::uint64_t> counts, std::uint32_t k,
                          const std::function<bool(std::size_t base)>& is_low);

ReadKmers count_found(std::span<const std::uint64_t> counts, const ReadRule& rule);

/// A stretch of bases.
struct BaseRange {
  std::size_t first = 0;
  std::size_t length = 0;
};

/// Returns the range from the first base that a found k-mer covers to the last one; of length 0 when none is
/// found.
BaseRange covered_range(std::span<const std::uint64_t> counts, std::uint32_t k, const ReadRule& rule);

/// Overwrites by 'N' every one of the read's bases, of which there are `bases.size()`, that no found k-mer
/// covers. Returns how many bases that were not N.
std::size_t mask_uncovered(std::span<const std::uint64_t> counts, std::uint32_t k, const ReadRule& rule,
                           std::span<char> bases);

/// Returns the length of the stretch from the first base on in which every k-mer is found; 0 when the first
/// one is not.
std::size_t leading_bases(std::span<const std::uint64_t> counts, std::uint32_t k, const ReadRule& rule);

/// Overwrites by 'N' every base of a k-mer that is not found; one with a break is none that is. As
/// `mask_uncovered` does, but what two k-mers cover must be in both.
void mask_others(std::span<const std::uint64_t> counts, std::uint32_t k, const ReadRule& rule,
                 std::span<char> bases);

}  // namespace warpmer::jobs
