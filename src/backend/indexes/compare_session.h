#pragma once
/// K-mers that several indexes share, two by two.

#include <functional>
#include <memory>
#include <vector>

#include "backend/indexes/set_session.h"
#include "backend/indexes/similarity.h"
#include "index/index_file.h"

namespace warpmer::backend {

/// Sums of all samples and of all pairs of them.
struct ComparisonSums {
  std::vector<SampleSums> samples;
  std::vector<PairSums> pairs;  ///< sums for a < b at `pair_number`

  explicit ComparisonSums(std::size_t number = 0) : samples(number), pairs(number * (number - 1) / 2) {}
  /// Returns the number of the pair of samples a and b, a less than b.
  [[nodiscard]] std::size_t pair_number(std::size_t a, std::size_t b) const {
    return a * samples.size() - a * (a + 1) / 2 + b - a - 1;
  }
  [[nodiscard]] const PairSums& pair(std::size_t a, std::size_t b) const {
    return pairs[a < b ? pair_number(a, b) : pair_number(b, a)];
  }
  void merge(const ComparisonSums& other);
};

/// Adds up shard by shard.
class CompareSession {
 public:
  virtual ~CompareSession() = default;
  /// Does shards until none is left; called concurrently, with a different `thread` each. InputError for a
  /// shard that is damaged, ResourceError when memory is short.
  virtual void finish(unsigned thread, const std::function<void()>& shard_done) = 0;
  /// Makes `finish` return soon.
  virtual void cancel() noexcept = 0;
  /// To be called once, after all threads have returned from `finish`.
  [[nodiscard]] virtual ComparisonSums take_sums() = 0;
};

/// Makes a session on the CPU (src/cpu), within that memory. The indexes, all of the same parameters, must
/// live as long; `bounds` has for each which counts to look at. ResourceError for memory that leaves nothing
/// to work in.
std::unique_ptr<CompareSession> make_cpu_comparison(const std::vector<index::IndexFile>& inputs,
                                                    const std::vector<CountBounds>& bounds,
                                                    const WorkingMemory& memory);

}  // namespace warpmer::backend
