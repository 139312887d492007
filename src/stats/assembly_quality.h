#pragma once
/// Measures how good an assembly is by the k-mers of reads, as Merqury does (Rhie, Walenz, Koren, Phillippy:
/// Merqury: reference-free quality, completeness, and phasing assessment for genome assemblies, Genome
/// Biology 21:245, 2020).

#include <cmath>
#include <cstdint>
#include <limits>

namespace warpmer::stats {

/// K-mers of an assembly or of one of its sequences, each as often as it occurs there.
struct AssemblyKmers {
  std::uint64_t kmers = 0;
  std::uint64_t missing = 0;  ///< k-mers that reads do not have

  AssemblyKmers& operator+=(const AssemblyKmers& other) {
    kmers += other.kmers;
    missing += other.missing;
    return *this;
  }
};

/// The reads' k-mers that are no errors.
struct SolidKmers {
  std::uint64_t count = 0;  ///< from this count on
  std::uint64_t kmers = 0;  ///< distinct
};

/// Returns the probability that a base is wrong: 1 - (1 - missing / kmers)^(1/k), as a k-mer is in the reads
/// if all its bases are right. NaN where there are no k-mers.
inline double base_error_rate(const AssemblyKmers& sums, std::uint32_t k) {
  if (sums.kmers == 0) return std::numeric_limits<double>::quiet_NaN();
  const double missing = static_cast<double>(sums.missing) / static_cast<double>(sums.kmers);
  return std::abs(std::expm1(std::log1p(-missing) / k));  // right for the smallest rates, too
}

/// Returns the consensus quality value, -10 log10 of the error rate; infinite where no k-mer is missing, NaN
/// as above.
inline double quality_value(const AssemblyKmers& sums, std::uint32_t k) {
  return std::abs(10 * std::log10(base_error_rate(sums, k)));  // of at most 1
}

/// Returns the per cent of the reads' solid k-mers, all distinct, that an assembly has. NaN where there are
/// none.
inline double completeness(std::uint64_t found, std::uint64_t solid) {
  return 100 * (static_cast<double>(found) / static_cast<double>(solid));
}

}  // namespace warpmer::stats
