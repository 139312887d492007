#include "backend/indexes/compare_session.h"

namespace warpmer::backend {

void ComparisonSums::merge(const ComparisonSums& other) {
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i].distinct += other.samples[i].distinct;
    samples[i].kmers += other.samples[i].kmers;
    samples[i].squares += other.samples[i].squares;
  }
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    pairs[i].shared += other.pairs[i].shared;
    pairs[i].smaller += other.pairs[i].smaller;
    pairs[i].products += other.pairs[i].products;
  }
}

}  // namespace warpmer::backend
