#pragma once
/// One experiment: a table is built several times from the same pairs and then asked.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tables/workbench.h"

namespace warpmer::bench {

/// The method of an experiment.
struct Method {
  std::uint32_t builds = 3;  ///< builds with different hash functions; the median of their times is taken
  std::uint32_t rounds = 3;  ///< rounds of lookups, after one to warm up
  std::uint32_t seed = 1;    ///< seed of the first build
  std::vector<std::uint32_t> hits_percent = {100, 50, 0};
  bool count_probes = true;
  bool ahead = false;
  bool split = false;
};

/// The result for one kind of operation.
struct Measured {
  double mops = 0;     ///< 10^6 operations per second
  double probes = -1;  ///< buckets looked at, for each operation; below 0: not counted
};

/// An operation that is neither building nor looking up.
struct OtherOperation {
  std::string name;
  Measured measured;
};

enum class Outcome {
  right,       ///< every inserted key was found with its value, no other was
  incomplete,  ///< the same, except for keys that the insertion had reported as without a place
  wrong,
};

/// One table in one experiment: insertions and lookups, or other operations.
struct Row {
  std::string figure;  ///< the paper's experiment that it belongs to
  Configuration configuration{};
  std::string device;
  KeyPlan keys;
  Method method;
  std::size_t distinct = 0;
  std::size_t slots = 0;
  double bytes_per_key = 0;  ///< bytes of an element, if a key has several
  double utilization = 0;    ///< elements' bytes by all bytes (Ashkiani et al. 2018, section III-C)
  double load = 0;
  std::size_t batch = 0;  ///< pairs inserted at a time; 0: all
  std::string
      mix;  ///< percent of insertions, erasures, lookups of keys that are there and of keys that are not
  std::vector<OtherOperation> others;
  Measured insert;
  std::vector<Measured> find;   ///< one for each of the method's hit ratios
  std::uint32_t successes = 0;  ///< builds that placed all keys where the paper's scheme would
  std::uint64_t overflow = 0;   ///< keys that found no place in the build that was asked
  Outcome outcome = Outcome::right;
};

/// Notes the size of the table that has been built, and its contents.
void describe(const TableUnderTest& table, std::size_t elements, Row& row);
/// Judges a table that must hold all keys but `row.overflow`.
void judge(const Verdict& verdict, Row& row);
[[nodiscard]] double median(std::vector<double> values);
/// Returns million operations a second.
[[nodiscard]] double mops(std::size_t operations, double seconds);

/// Runs an experiment. The pairs have been made on the bench, and have `distinct` distinct keys.
Row run_experiment(Workbench& bench, const TableEntry& entry, const KeyPlan& keys, std::size_t distinct,
                   double load, const Method& method);

}  // namespace warpmer::bench
