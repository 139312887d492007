#pragma once
/// K-mers of some shards, counted exactly: predictions about all k-mers are made of them.
///
/// A k-mer's shard is a function of its minimizer's hash, so a few shards are a random sample of the distinct
/// k-mers in which every count is exact: distinct sampling (Gibbons 2001), with minimizers' buckets for
/// single keys. The session cuts what a CountingSession cuts; words of other shards are only counted.

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "index/index_file.h"
#include "io/text/batch.h"

namespace warpmer::backend {

/// A shard's part of what was read.
struct ShardSample {
  std::uint64_t kmers = 0;  ///< occurrences
  std::uint64_t words = 0;  ///< super-k-mers that they are in
  bool is_counted = false;  ///< true when the rest is known
  std::uint64_t distinct = 0;
  std::uint64_t stored = 0;         ///< distinct k-mers within the filter
  std::uint64_t payload_words = 0;  ///< words of these, frozen
};

/// K-mers of some counted shards: what a random half of the batches has, and what all of them have. It tells
/// whether k-mers that are alike stand close together.
struct HalfSample {
  std::uint64_t kmers = 0, distinct = 0;  ///< numbers for the half
  index::Histogram histogram;             ///< counts in all batches
};

struct KmerSample {
  std::vector<ShardSample> shards;
  index::Histogram histogram;    ///< distinct k-mers of counted shards by count, before the filter
  std::uint64_t word_bytes = 0;  ///< bytes of a super-k-mer; 0 where there are none (small k)
  HalfSample half;               ///< empty unless it was asked for
  double count_seconds = 0;      ///< spent on counting and freezing them, summed over threads
};

class SampleSession {
 public:
  virtual ~SampleSession() = default;
  /// Takes the k-mers of a batch, and returns their number. Called concurrently, with a different `thread`
  /// each.
  virtual std::uint64_t add(io::Batch& batch, unsigned thread) = 0;
  /// Counts shards until none is left, when the input is complete. Called concurrently like `add`.
  virtual void finish(unsigned thread) = 0;
  /// To be called after all threads have returned from `finish`. The result is the same for any number of
  /// threads, times excepted.
  [[nodiscard]] virtual KmerSample sample() const = 0;
};

struct SamplePlan {
  CountPlan count;      ///< the plan of counting; its memory does not matter
  bool halves = false;  ///< true when one half of the batches is looked at by itself
  /// Pending words that may be held; with more, half of the shards are given up, down to 16.
  std::uint64_t most_bytes = std::uint64_t{256} << 20;
};

/// Makes a session on the CPU (src/cpu).
std::unique_ptr<SampleSession> make_cpu_sample(const SamplePlan& plan);

}  // namespace warpmer::backend
