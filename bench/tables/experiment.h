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

enum class Outcome {
  right,       ///< every inserted key was found with its value, no other was
  incomplete,  ///< so it was, but for those keys of which the insertion had said that they found no place
  wrong,
};

struct Row {
  Configuration configuration{};
  std::string device;
  KeyPlan keys;
  Method method;
  std::size_t distinct = 0;
  std::size_t slots = 0;
  double bytes_per_key = 0;
  double load = 0;
  Measured insert;
  std::vector<Measured> find;   ///< for each of the method's hit ratios
  std::uint32_t successes = 0;  ///< builds that placed all keys where the paper's scheme would
  std::uint64_t homeless = 0;   ///< keys that found no place in the build that was asked
  Outcome outcome = Outcome::right;
};

/// The pairs have been made on the bench, as many different keys as `distinct`.
Row run_experiment(Workbench& bench, const TableEntry& entry, const KeyPlan& keys, std::size_t distinct,
                   double load, const Method& method);

}  // namespace warpmer::bench
