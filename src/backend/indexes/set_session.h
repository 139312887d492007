#pragma once
/// Set algebra on indexes: which k-mers of several indexes to keep, with which counts.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "backend/count_bounds.h"
#include "backend/indexes/index_set.h"
#include "index/index_file.h"

namespace warpmer::backend {

/// Says which k-mers the result has.
enum class SetOperation {
  unite,                 ///< in any input
  intersect,             ///< in all inputs
  subtract,              ///< in the first input, and in none of the others
  symmetric_difference,  ///< in exactly one input
};

/// Says which count a k-mer of the result has, of the counts in those inputs that have it.
enum class CountRule {
  sum,
  min,
  max,
  first,       ///< that of the first input that has it
  last,        ///< that of the last input that has it
  samples,     ///< the number of inputs that have it
  difference,  ///< with `subtract`: the first input's minus all others'; without the k-mer where that leaves
               ///< nothing
};

/// Returns how many k-mers of an index have such a count.
[[nodiscard]] inline std::uint64_t entries_within(const index::IndexFile& index, const CountBounds& bounds) {
  std::uint64_t entries = 0;
  for (const auto& [count, kmers] : index.histogram()) entries += bounds.contains(count) ? kmers : 0;
  return entries;
}

/// Says which k-mers, with which counts, an operation makes of its inputs.
struct SetRule {
  SetOperation operation = SetOperation::unite;
  CountRule counts = CountRule::sum;
  std::uint32_t min_samples = 1;  ///< with `unite`: inputs that must have a k-mer
  CountBounds of_result;
};

struct SetPlan {
  SetRule rule;
  std::vector<CountBounds> of_inputs;  ///< one for each input: what else of it is as if it were not there
  WorkingMemory memory;                ///< ResourceError beyond
};

/// Does an operation shard by shard.
class SetSession {
 public:
  virtual ~SetSession() = default;
  /// Does the same as CountingSession::finish. InputError for a shard that is damaged, or a sum of counts
  /// beyond 64 bits; ResourceError when memory is short.
  virtual void finish(unsigned thread, const ShardSink& sink, const std::function<void()>& shard_done) = 0;
  /// To be called after all threads have returned from `finish`.
  [[nodiscard]] virtual Tally tally() const = 0;
};

/// Makes a session on the CPU (src/cpu). The indexes, at least one, all of the same parameters, must live as
/// long. ResourceError for memory that leaves nothing to work in.
std::unique_ptr<SetSession> make_cpu_set_session(const SetPlan& plan,
                                                 const std::vector<index::IndexFile>& inputs);

}  // namespace warpmer::backend
