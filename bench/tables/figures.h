#pragma once
/// The papers' experiments, by name, with their tables, loads and keys.

#include <cstdint>
#include <string>
#include <vector>

#include "tables/experiment.h"
#include "tables/mix.h"

namespace warpmer::bench {

/// Chooses the tables that take part; empty lists choose any.
struct Choice {
  std::vector<std::string> tables;
  std::vector<int> groups, buckets, windows;
  bool open_addressing = false;  ///< only tables in which a key has a first bucket, and then others

  [[nodiscard]] bool takes(const Configuration& configuration) const;
};

/// The work that is done with the tables of a series.
enum class Kind {
  table,       ///< tables are built and asked (experiment.h); the other kinds are in dynamic_experiments.h
  batches,     ///< pairs are inserted in batches
  rebuilds,    ///< tables are built anew after each batch
  mix,         ///< operations of several kinds run side by side
  allocation,  ///< units are taken from SlabAlloc, whichever the tables
};

/// A part of an experiment: all tables of the choice, with all loads.
struct Series {
  Kind kind = Kind::table;
  Choice choice;
  std::vector<double> loads;
  std::vector<Distribution> distributions = {Distribution::unique};
  double repeats = 1;                    ///< pairs for each key number to draw from
  bool last_writer = false;              ///< KeyPlan's
  std::size_t pairs = 0;                 ///< 0: as the command line says
  std::uint32_t builds = 0, rounds = 0;  ///< 0: the same
  std::vector<std::uint32_t> hits_percent = {100, 50, 0};
  std::vector<std::uint32_t> batches = {};  ///< numbers of batches that all pairs make
  std::vector<Mix> mixes = {};
};

struct Figure {
  std::string name;
  std::string what;
  std::vector<Series> series;
};

const std::vector<Figure>& figures();

}  // namespace warpmer::bench
