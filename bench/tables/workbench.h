#pragma once
/// A device with all that the table experiments need on it: keys, queries, answers, a clock, and a judge of
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

/// The wrong answers to lookups.
struct Verdict {
  std::uint64_t lost = 0;      ///< keys that were inserted and not found
  std::uint64_t invented = 0;  ///< keys found that were never inserted, and wrong values
};

class Workbench {
 public:
  virtual ~Workbench() = default;
  [[nodiscard]] virtual std::string device() const = 0;
  // The tables and allocators there are for this device.
  [[nodiscard]] virtual std::vector<TableEntry> tables() const = 0;
  [[nodiscard]] virtual std::vector<AllocatorEntry> allocators() const = 0;
  /// True when its tables can put pairs in order before they insert them.
  [[nodiscard]] virtual bool splits() const = 0;

  /// Makes the pairs of a plan, and returns the number of their different keys. Earlier pairs are lost.
  virtual std::size_t make_pairs(const KeyPlan& plan) = 0;
  /// Returns all pairs, for TableUnderTest::insert. Totals are set to 0.
  virtual Insertions insertions() = 0;
  /// Makes `size` queries, at most one for each pair; so many percent of them, picked at random, are keys of
  /// the first `size` pairs, and the others are keys of none.
  virtual Lookups make_queries(std::uint32_t hits_percent, std::size_t size) = 0;
  /// Judges the lookups that were made last, when they have been answered.
  virtual Verdict judge_answers() = 0;
  /// Makes a query for each different key, so that `judge_counts` can see whether it was counted as often as
  /// it came.
  virtual Lookups make_queries_of_distinct() = 0;
  virtual Verdict judge_counts() = 0;

  /// Makes the operations `first` to `first + size` of a mix on a table of all pairs.
  virtual Operations make_operations(const MixPlan& plan, std::size_t first, std::size_t size) = 0;
  /// Judges the operations that were made last.
  virtual Verdict judge_operations() = 0;
  /// Makes queries for all keys that the mix uses; they ask whether a key is there when the mix is done.
  virtual Lookups make_queries_after(const MixPlan& plan) = 0;
  virtual Verdict judge_answers_after() = 0;

  /// Returns the totals that the device has counted since the last job was handed out.
  virtual Totals totals() = 0;
  /// Returns the seconds that the device takes for `work`, which may only start it.
  virtual double seconds_of(const std::function<void()>& work) = 0;
};

/// Makes the bench of the host; with 0, `threads` is the number of cores.
std::unique_ptr<Workbench> make_host_workbench(unsigned threads);
/// Makes the bench on a GPU, by its number among those of `warpmer devices`. Throws a ResourceError when
/// there is none.
std::unique_ptr<Workbench> make_gpu_workbench(int device);
/// Returns the number of GPUs that can be used.
int gpus_there_are();

}  // namespace warpmer::bench
