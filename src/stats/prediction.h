#pragma once
/// Predicts what is to be expected of all k-mers, from a sample of them: of the reads, of the shards, or of
/// both.

#include <cstdint>
#include <optional>
#include <vector>

#include "backend/sample_session.h"
#include "stats/unseen_kmers.h"

namespace warpmer::stats {

/// A batch of a sample.
struct SampledBatch {
  std::uint64_t kmers = 0;
  std::uint64_t input_bytes = 0;  ///< on disk
};

/// The reads that were sampled to predict from.
struct SampledReads {
  bool is_whole = false;           ///< everything was
  std::uint64_t total_bytes = 0;   ///< bytes of all inputs, on disk
  std::uint64_t begun_inputs = 0;  ///< inputs of which only the beginning was read
  std::uint64_t records = 0;
  std::vector<SampledBatch> batches;
};

struct KmerPrediction {
  double share = 1;  ///< share of all occurrences that was read
  /// 0: k-mers that are alike are anywhere in the input, 1: next to each other; none if that is not known, or
  /// no matter because everything was read.
  std::optional<double> locality;
  Range occurrences;
  Range distinct;
  Range stored;         ///< distinct k-mers within the filter
  Range pending_bytes;  ///< bytes of all super-k-mers, in words as they are cut
  Range run_bytes;      ///< bytes of all distinct k-mers, frozen
  Range payload_bytes;  ///< bytes of stored ones
};

/// docs/plan.md says how, and what the ranges mean.
KmerPrediction predict_kmers(const backend::KmerSample& sample, const SampledReads& reads,
                             const backend::CountPlan& plan);

/// Predicts the bytes of an index's directory.
Range directory_bytes(const backend::KmerSample& sample, const KmerPrediction& prediction);

}  // namespace warpmer::stats
