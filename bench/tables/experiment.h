#pragma once
/// One experiment: a table is built several times from the same pairs and then asked.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tables/workbench.h"

namespace warpmer::bench {

/// How an experiment is done.
struct Method {
  std::uint32_t builds = 3;  ///< with different hash functions; of their times the median is taken
  std::uint32_t rounds = 3;  ///< of lookups, after one to warm up
  std::uint32_t seed = 1;    ///< of the first build
  std::vector<std::uint32_t> hits_percent = {100, 50, 0};
  bool count_probes = true;
  bool ahead = false;
  bool split = false;
};

/// What one kind of operation came to.
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
  incomplete,  ///< so it was, but for those keys of which the insertion had said that they found no place
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
  double bytes_per_key = 0;  ///< of an element, where a key has several
  double utilization = 0;    ///< elements' bytes by all bytes (Ashkiani et al. 2018, section III-C)
  double load = 0;
  std::size_t batch = 0;  ///< pairs inserted at a time; 0: all
  std::string mix;        ///< percent of insertions, erasures, lookups of what is there and of what is not
  std::vector<OtherOperation> others;
  Measured insert;
  std::vector<Measured> find;   ///< for each of the method's hit ratios
  std::uint32_t successes = 0;  ///< builds that placed all keys where the paper's scheme would
  std::uint64_t homeless = 0;   ///< keys that found no place in the build that was asked
  Outcome outcome = Outcome::right;
};

/// Writes down how large the table is that has been built, and what it holds.
void describe(const TableUnderTest& table, std::size_t elements, Row& row);
/// A verdict on a table that was to hold all keys but `row.homeless`.
void judge(const Verdict& verdict, Row& row);
[[nodiscard]] double median(std::vector<double> values);
/// Million operations a second.
[[nodiscard]] double mops(std::size_t operations, double seconds);

/// The pairs have been made on the bench, as many different keys as `distinct`.
Row run_experiment(Workbench& bench, const TableEntry& entry, const KeyPlan& keys, std::size_t distinct,
                   double load, const Method& method);

}  // namespace warpmer::bench
