#pragma once
/// The papers' experiments, by name: which tables, loads and keys they have.

#include <cstdint>
#include <string>
#include <vector>

#include "tables/experiment.h"

namespace warpmer::bench {

/// Which of the tables there are take part; empty lists and zeros: any.
struct Choice {
  std::vector<std::string> tables;
  std::vector<int> groups, buckets, windows;

  [[nodiscard]] bool takes(const Configuration& configuration) const;
};

/// A part of an experiment: all tables of the choice, with all loads.
struct Series {
  Choice choice;
  std::vector<double> loads;
  std::vector<Distribution> distributions = {Distribution::unique};
  double repeats = 1;                    ///< pairs for each key number to draw from
  std::size_t pairs = 0;                 ///< 0: what the command line says
  std::uint32_t builds = 0, rounds = 0;  ///< 0: the same
  std::vector<std::uint32_t> hits_percent = {100, 50, 0};
};

struct Figure {
  std::string name;
  std::string what;
  std::vector<Series> series;
};

const std::vector<Figure>& figures();

}  // namespace warpmer::bench
