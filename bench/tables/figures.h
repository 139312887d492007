#pragma once
/// The papers' experiments, by name: which tables, loads and keys they have.

#include <cstdint>
#include <string>
#include <vector>

#include "tables/experiment.h"
#include "tables/mix.h"

namespace warpmer::bench {

/// Which of the tables there are take part; empty lists: any.
struct Choice {
  std::vector<std::string> tables;
  std::vector<int> groups, buckets, windows;
  bool open_addressing = false;  ///< only tables in which a key has a first bucket, and then others

  [[nodiscard]] bool takes(const Configuration& configuration) const;
};

/// What is done with the tables of a series.
enum class Kind {
  table,       ///< built, and asked (experiment.h); and the others in dynamic_experiments.h
  batches,     ///< pairs are inserted in batches
  rebuilds,    ///< tables are built anew after each batch
  mix,         ///< operations of several kinds run side by side
  allocation,  ///< SlabAlloc, whichever the tables
};

/// A part of an experiment: all tables of the choice, with all loads.
struct Series {
  Kind kind = Kind::table;
  Choice choice;
  std::vector<double> loads;
  std::vector<Distribution> distributions = {Distribution::unique};
  double repeats = 1;                    ///< pairs for each key number to draw from
  std::size_t pairs = 0;                 ///< 0: what the command line says
  std::uint32_t builds = 0, rounds = 0;  ///< 0: the same
  std::vector<std::uint32_t> hits_percent = {100, 50, 0};
  std::vector<std::uint32_t> batches = {};  ///< of so many all pairs are
  std::vector<Mix> mixes = {};
};

struct Figure {
  std::string name;
  std::string what;
  std::vector<Series> series;
};

const std::vector<Figure>& figures();

}  // namespace warpmer::bench
