#pragma once
/// Extrapolates from the spectrum of a sample of the reads to that of all of them: what it can be, between
/// which bounds.
///
/// If a k-mer occurs M times in all reads, and a share p of the reads is a sample, it occurs there about
/// Binomial(M, p) times. So each spectrum of the whole, w[M] k-mers that occur M times, makes the sample's
/// spectrum look one way; the reverse is not so: many w fit the sample within its noise. All that do, and
/// nothing else, are the possible answers. A linear program finds the least and the most distinct k-mers
/// among them (Efron and Thisted 1976, "How many words did Shakespeare know?", section 6; the discretised
/// spectrum as in Valiant and Valiant 2013, "Estimating the unseen"). No model of genomes or errors is in
/// it: sequencing errors are k-mers of M = 1, and the spectrum has them.

#include <cstdint>
#include <vector>

#include "index/index_file.h"

namespace warpmer::stats {

/// A number that is known with an error: it is taken to be in [low, high].
struct Range {
  double low = 0;
  double estimate = 0;
  double high = 0;
};

/// K-mers that occur about `count` times each.
struct CountClass {
  double count = 0;
  double kmers = 0;
};
using CountClasses = std::vector<CountClass>;

/// The least and the greatest number of k-mers of counts in some range that there can be, and the spectra of
/// the whole that have the fewest and the most.
struct KmerBounds {
  Range kmers;
  CountClasses fewest, most;
};

struct SampledSpectrum {
  index::Histogram histogram;  ///< histogram of the sample: distinct k-mers by count
  double share = 1;            ///< share of all occurrences that is in the sample, above 0, at most 1
  double clump = 1;            ///< neighbours in a read share their fate: so many k-mers count as one, about
};

/// Returns the bounds for k-mers that occur from `min_count` to `max_count` times in all reads. The estimate
/// is the geometric mean of the bounds, which is never off by a larger factor than half of what is between
/// them. A sample that is everything has bounds that are one. Takes about a millisecond.
KmerBounds extrapolate(const SampledSpectrum& sample, std::uint64_t min_count, std::uint64_t max_count);

/// Returns the number of distinct k-mers to be expected in a random share of the occurrences that a histogram
/// is of.
double thinned_distinct(const index::Histogram& histogram, double share);

}  // namespace warpmer::stats
