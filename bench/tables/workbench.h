#pragma once
/// A device with what the table experiments need on it: keys, queries, answers, a clock, and a judge of
/// answers.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tables/allocator_under_test.h"
#include "tables/keys.h"
#include "tables/mix.h"
#include "tables/table_under_test.h"

namespace warpmer::bench {

/// What was wrong with the answers to lookups.
struct Verdict {
  std::uint64_t lost = 0;      ///< keys that were inserted and not found
  std::uint64_t invented = 0;  ///< keys found that were never inserted, and wrong values
};

class Workbench {
 public:
  virtual ~Workbench() = default;
  [[nodiscard]] virtual std::string device() const = 0;
  // Those there are for it.
  [[nodiscard]] virtual std::vector<TableEntry> tables() const = 0;
  [[nodiscard]] virtual std::vector<AllocatorEntry> allocators() const = 0;
  /// Whether its tables can put pairs in order before they insert them.
  [[nodiscard]] virtual bool splits() const = 0;

  /// Makes the pairs of a plan; returns how many different keys they have. What was made before is lost.
  virtual std::size_t make_pairs(const KeyPlan& plan) = 0;
  /// All pairs, for TableUnderTest::insert. Totals are set to 0.
  virtual Insertions insertions() = 0;
  /// Makes as many queries, at most one for each pair; so many percent of them, picked at random, are keys of
  /// the first so many pairs, the others of none.
  virtual Lookups make_queries(std::uint32_t hits_percent, std::size_t size) = 0;
  /// Of the lookups made last, when they have been answered.
  virtual Verdict judge_answers() = 0;
  /// Each different key once, so that `judge_counts` can see whether it was counted as often as it came.
  virtual Lookups make_queries_of_distinct() = 0;
  virtual Verdict judge_counts() = 0;

  /// Operations `first` to `first + size` of a mix on a table of all pairs.
  virtual Operations make_operations(const MixPlan& plan, std::size_t first, std::size_t size) = 0;
  /// Of the operations made last.
  virtual Verdict judge_operations() = 0;
  /// All keys that the mix has to do with, and whether they are there when it is done.
  virtual Lookups make_queries_after(const MixPlan& plan) = 0;
  virtual Verdict judge_answers_after() = 0;

  /// What the device has counted since the last job was handed out.
  virtual Totals totals() = 0;
  /// How long the device takes for `work`, which may only start it.
  virtual double seconds_of(const std::function<void()>& work) = 0;
};

/// `threads`: 0 for as many as there are cores.
std::unique_ptr<Workbench> make_host_workbench(unsigned threads);
/// On a GPU, by its number among those of `warpmer devices`. Throws ResourceError when there is none.
std::unique_ptr<Workbench> make_gpu_workbench(int device);
/// GPUs that can be used.
int gpus_there_are();

}  // namespace warpmer::bench
