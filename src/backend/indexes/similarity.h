#pragma once
/// Measures how alike two sets of k-mers are, from what they share.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kmer/kmer.h"

namespace warpmer::backend {

/// Sums of one sample: distinct k-mers, the sum of their counts, and of the counts' squares.
struct SampleSums {
  std::uint64_t distinct = 0;
  std::uint64_t kmers = 0;
  Key128 squares = 0;
};

/// Sums of two samples, over the k-mers that both have: how many, the sum of the smaller counts, and of the
/// products.
struct PairSums {
  std::uint64_t shared = 0;
  std::uint64_t smaller = 0;
  Key128 products = 0;
};

/// Returns part by whole. Nothing of nothing is all of it: two empty samples are equal, and an empty one is
/// contained in any.
inline double share(double part, double whole) { return whole > 0 ? part / whole : 1; }

inline std::uint64_t union_size(const SampleSums& a, const SampleSums& b, const PairSums& pair) {
  return a.distinct - pair.shared + b.distinct;
}

/// |A and B| / |A or B|.
inline double jaccard(const SampleSums& a, const SampleSums& b, const PairSums& pair) {
  return share(static_cast<double>(pair.shared), static_cast<double>(union_size(a, b, pair)));
}

/// |A and B| / |A|: how much of `a` the other one has.
inline double containment(const SampleSums& a, const PairSums& pair) {
  return share(static_cast<double>(pair.shared), static_cast<double>(a.distinct));
}

/// Returns Jaccard's index of multisets (Ruzicka): sum of the smaller counts by sum of the larger ones.
inline double weighted_jaccard(const SampleSums& a, const SampleSums& b, const PairSums& pair) {
  const Key128 larger = Key128{a.kmers} + b.kmers - pair.smaller;
  return share(static_cast<double>(pair.smaller), static_cast<double>(larger));
}

/// Returns the cosine of the angle between the vectors of counts; 0 when one of them alone has no k-mers.
inline double cosine(const SampleSums& a, const SampleSums& b, const PairSums& pair) {
  if (a.distinct == 0 || b.distinct == 0) return a.distinct == b.distinct ? 1 : 0;
  const double lengths =
      std::sqrt(static_cast<double>(a.squares)) * std::sqrt(static_cast<double>(b.squares));
  return std::min(1.0, static_cast<double>(pair.products) / lengths);
}

/// Returns the Mash distance (Ondov et al. 2016): -ln(2j / (1 + j)) / k with Jaccard's index j, here of all
/// k-mers instead of a sketch; at most 1, and 1 when nothing is shared.
inline double mash_distance(double jaccard_index, std::uint32_t k) {
  if (jaccard_index <= 0) return 1;
  if (jaccard_index >= 1) return 0;
  return std::min(1.0, -std::log(2 * jaccard_index / (1 + jaccard_index)) / k);
}

}  // namespace warpmer::backend
