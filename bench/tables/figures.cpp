#include "tables/figures.h"

#include <algorithm>

#include "tables/hash_graph_tables.h"
#include "tables/slab_elements.h"
#include "tables/slab_tables.h"

namespace warpmer::bench {
namespace {

template <class T>
bool is_in(const std::vector<T>& choice, const T& value) {
  return choice.empty() || std::find(choice.begin(), choice.end(), value) != choice.end();
}

const std::vector<double> kWarpDriveLoads = {0.40, 0.50, 0.60, 0.70, 0.80, 0.85, 0.90, 0.95, 0.97, 0.99};

/// Juenger et al. 2018, section V-B: 2^27 pairs, groups of every width, windows of 32 slots.
Choice warpdrive_of_the_paper() {
  return {.tables = {"warpdrive"}, .groups = {}, .buckets = {}, .windows = {32}};
}

Figure warpdrive7() {
  Series series{.choice = warpdrive_of_the_paper(), .loads = kWarpDriveLoads};
  series.pairs = std::size_t{1} << 27;
  return {"warpdrive7", "WarpDrive, group size x load, unique keys (Juenger et al. 2018, Fig. 7)", {series}};
}

/// The paper does not say from how many keys it draws.
Figure warpdrive8() {
  Series series{.choice = warpdrive_of_the_paper(), .loads = kWarpDriveLoads};
  series.pairs = std::size_t{1} << 27;
  series.distributions = {Distribution::zipf};
  series.hits_percent = {100};
  return {"warpdrive8", "the same, Zipf-distributed keys, s = 1 + 1e-6 (Fig. 8)", {series}};
}

Figure warpdrive8_last() {
  Figure figure{"warpdrive8-last", "the same, a key's last value stays, as in the paper",
                warpdrive8().series};
  for (Series& series : figure.series) series.last_writer = true;
  return figure;
}

/// Awad et al. 2023, section 7: 50 million keys unless it says otherwise.
constexpr std::size_t kAwadKeys = 50'000'000;

Series awad_speed(Choice choice, std::vector<double> loads, std::size_t keys = kAwadKeys) {
  Series series{.choice = std::move(choice), .loads = std::move(loads)};
  series.pairs = keys;
  return series;
}
/// The share of so many builds that placed all keys.
Series awad_success(Choice choice, std::vector<double> loads, std::uint32_t builds) {
  Series series{.choice = std::move(choice), .loads = std::move(loads)};
  series.pairs = kAwadKeys;
  series.builds = builds;
  series.rounds = 1;
  return series;
}
Choice named(const char* table, std::vector<int> groups = {}, std::vector<int> buckets = {}) {
  return {.tables = {table}, .groups = std::move(groups), .buckets = std::move(buckets), .windows = {}};
}

/// Averages over loads; probes at the highest loads; success rates of 200 builds.
Figure bcht_table3() {
  return {
      "bcht-table3",
      "BCHT, 1CHT and IHT: speed, probes, success rates (Awad et al. 2023, Table 3, sections 7.3 and 7.4)",
      {awad_speed(named("bcht", {}, {8, 16, 32}), {0.6, 0.7, 0.8, 0.9, 0.95, 0.99}),
       awad_speed(named("1cht"), {0.6, 0.7, 0.8, 0.9}),
       awad_speed(named("iceberg"), {0.6, 0.7, 0.75, 0.8, 0.86, 0.9, 0.92}),
       awad_success(named("bcht", {4}, {16}), {0.98}, 200), awad_success(named("1cht"), {0.88}, 200),
       awad_success(named("iceberg", {8}, {32}), {0.91}, 200)}};
}

/// Sections 7.3 and 7.4: tables of different sizes.
Figure bcht_sizes() {
  Figure figure{
      "bcht-sizes", "BCHT, 1CHT and IHT by size, 10^6 to 10^8 keys (Awad et al. 2023, Table 3)", {}};
  for (const std::size_t keys : {1'000'000u, 3'000'000u, 10'000'000u, 30'000'000u, 100'000'000u}) {
    figure.series.push_back(awad_speed(named("bcht", {}, {8, 16, 32}), {0.8, 0.9}, keys));
    figure.series.push_back(awad_speed(named("1cht"), {0.8, 0.9}, keys));
    figure.series.push_back(awad_speed(named("iceberg"), {0.75, 0.8, 0.9}, keys));
  }
  return figure;
}

/// Section 7.1: how full tables can be built, by size of bucket.
Figure bcht_success() {
  constexpr std::uint32_t kBuilds = 40;
  return {"bcht-success",
          "builds that succeed, by load and bucket (Awad et al. 2023, Figs. 1 and 2)",
          {awad_success(named("1cht"), {0.8, 0.84, 0.86, 0.88, 0.9}, kBuilds),
           awad_success(named("bcht", {2}, {8}), {0.94, 0.95, 0.96, 0.97, 0.98}, kBuilds),
           awad_success(named("bcht", {4}, {16}), {0.96, 0.97, 0.98, 0.985, 0.99}, kBuilds),
           awad_success(named("bcht", {8}, {32}), {0.97, 0.98, 0.985, 0.99, 0.995}, kBuilds),
           awad_success(named("iceberg", {8}, {8}), {0.6, 0.65, 0.7, 0.73, 0.76}, kBuilds),
           awad_success(named("iceberg", {16}, {16}), {0.78, 0.8, 0.82, 0.84, 0.86}, kBuilds),
           awad_success(named("iceberg", {32}, {32}), {0.88, 0.9, 0.91, 0.92, 0.93}, kBuilds)}};
}

/// Section 7.1.2: the threshold at which a primary bucket sends keys on.
Figure iceberg_threshold() {
  Figure figure{
      "iceberg-threshold", "IHT by threshold: probes, speed, success (Awad et al. 2023, section 7.1.2)", {}};
  for (const char* table : {"iceberg-50", "iceberg-60", "iceberg-65", "iceberg", "iceberg-95"}) {
    figure.series.push_back(awad_success(named(table, {1, 16}, {16}), {0.7, 0.8, 0.82, 0.84, 0.86}, 10));
    figure.series.push_back(awad_success(named(table, {1, 32}, {32}), {0.8, 0.88, 0.9, 0.92}, 10));
  }
  return figure;
}

/// Share of slots that are filled when so much of the memory holds elements: 120 of a slab's 128 bytes can.
double load_at(double utilization) { return utilization * table::kSlabBytes / table::kElementBytes; }

std::vector<double> loads_at(const std::vector<double>& utilizations) {
  std::vector<double> loads;
  loads.reserve(utilizations.size());
  for (const double utilization : utilizations) loads.push_back(load_at(utilization));
  return loads;
}

/// Ashkiani et al. 2018, section VI-A: 2^22 pairs; all lookups find something, or none does.
const std::vector<double> kUtilizations = {0.2, 0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9};
const std::vector<double> kFewerUtilizations = {0.2, 0.4, 0.5, 0.6, 0.65, 0.7, 0.8, 0.9};

Choice slab_hashes() {
  return {.tables = {"slab", "slab-full", "slab64"}, .groups = {}, .buckets = {}, .windows = {}};
}
/// The paper compares with a cuckoo table; so do we, with ours. On CPUs groups are of 1.
Choice cuckoo_to_compare() { return {.tables = {"bcht"}, .groups = {1, 2}, .buckets = {8}, .windows = {}}; }

Series found_or_not(Choice choice, std::vector<double> loads, std::size_t pairs) {
  Series series{.choice = std::move(choice), .loads = std::move(loads)};
  series.pairs = pairs;
  series.hits_percent = {100, 0};
  return series;
}

Figure slabhash4() {
  constexpr std::size_t kPairs = std::size_t{1} << 22;
  return {"slabhash4",
          "slab hash, building and lookups by memory utilization (Ashkiani et al. 2018, Fig. 4)",
          {found_or_not(slab_hashes(), loads_at(kUtilizations), kPairs),
           found_or_not(cuckoo_to_compare(), kUtilizations, kPairs)}};
}

/// Section VI-A: 60 % of the memory.
Figure slabhash5() {
  Figure figure{"slabhash5", "the same by size, 2^16 to 2^27 pairs, utilization 0.6 (Fig. 5)", {}};
  for (int log = 16; log <= 27; ++log) {
    const std::size_t pairs = std::size_t{1} << log;
    figure.series.push_back(found_or_not(slab_hashes(), {load_at(0.6)}, pairs));
    figure.series.push_back(found_or_not(cuckoo_to_compare(), {0.6}, pairs));
  }
  return figure;
}

/// Section VI-B: 2^21 pairs, batches of 128, 64 and 32 Ki, utilization 0.65 at the end.
Figure slabhash6() {
  const auto series = [](Kind kind, Choice choice, double load) {
    Series one{.kind = kind, .choice = std::move(choice), .loads = {load}};
    one.pairs = std::size_t{1} << 21;
    one.batches = {16, 32, 64};
    return one;
  };
  return {"slabhash6",
          "batches inserted into a slab hash against rebuilding a cuckoo table after each (Fig. 6)",
          {series(Kind::batches, slab_hashes(), load_at(0.65)),
           series(Kind::rebuilds, cuckoo_to_compare(), 0.65)}};
}

/// Section VI-C: 100, 40 and 20 % updates.
const std::vector<Mix> kMixes = {{50, 50, 0}, {20, 20, 30}, {10, 10, 40}};

Figure slabhash7() {
  Series series{.kind = Kind::mix, .choice = slab_hashes(), .loads = loads_at(kFewerUtilizations)};
  series.pairs = std::size_t{1} << 22;
  series.mixes = kMixes;
  return {"slabhash7", "updates and lookups side by side, 100, 40 and 20 % updates (Fig. 7a)", {series}};
}

/// Tables with as many lists, of slabs or of nodes.
Figure slabhash7_chained() {
  Figure figure{"slabhash7-chained",
                "the same, slab hash beside a chained table with as many lists, 2^20 pairs (Fig. 7b)",
                {}};
  constexpr std::size_t kPairs = std::size_t{1} << 20;
  for (const double utilization : {0.2, 0.3, 0.4, 0.5, 0.6}) {
    const double load = load_at(utilization);
    const std::uint32_t lists = buckets_of_slabs(kPairs, load, ElementSlab<std::uint64_t>::kSlots);
    Series slabs{.kind = Kind::mix, .choice = named("slab"), .loads = {load}};
    slabs.pairs = kPairs;
    slabs.mixes = kMixes;
    Series chained = slabs;
    chained.choice = named("chained");
    chained.loads = {static_cast<double>(kPairs) / lists};
    figure.series.push_back(slabs);
    figure.series.push_back(chained);
  }
  return figure;
}

/// Section V.
Figure slaballoc() {
  Series series{.kind = Kind::allocation, .choice = {}, .loads = {0.5}};
  series.pairs = 1'000'000;
  series.builds = 9;
  return {"slaballoc",
          "SlabAlloc, SlabAlloc-light and malloc, 10^6 slabs, each lane asks for one (section V)",
          {series}};
}

/// Green 2019, section 4: 32 Mi keys and as many queries.
constexpr std::size_t kHashGraphPairs = std::size_t{1} << 25;

Choice hash_graphs() {
  Choice choice;
  for (const HashGraphKind& kind : kHashGraphKinds) {
    if (kind.bins == 0) choice.tables.emplace_back(kind.name);
  }
  return choice;
}
Choice hash_graphs_by_bins() {
  Choice choice;
  for (const HashGraphKind& kind : kHashGraphKinds) {
    if (kind.bins != 0) choice.tables.emplace_back(kind.name);
  }
  return choice;
}

/// Keys drawn at random from so many fewer; all lookups find something.
Series of_duplicates(Choice choice, double duplicates, std::size_t pairs) {
  Series series{.choice = std::move(choice), .loads = {1}};
  series.distributions = {Distribution::uniform};
  series.repeats = duplicates;
  series.pairs = pairs;
  series.hits_percent = {100};
  return series;
}

/// Sections 5.1 and 5.2: keys drawn at random from so many fewer.
Figure hashgraph_duplicates() {
  Figure figure{"hashgraph-duplicates",
                "HashGraph V1 and V2, both probes, by duplicates of a key (Green 2019, Figs. 3 and 7)",
                {}};
  for (const double duplicates : {1., 2., 4., 8., 16., 32.})
    figure.series.push_back(of_duplicates(hash_graphs(), duplicates, kHashGraphPairs));
  return figure;
}

/// Section 5.1, bin count selection: 2, 8 and 32 Mi keys.
Figure hashgraph_bins() {
  Figure figure{"hashgraph-bins", "building HashGraph V2 by number of bins (Fig. 4)", {}};
  for (const int log : {21, 23, 25}) {
    for (const double duplicates : {1., 8., 32.})
      figure.series.push_back(of_duplicates(hash_graphs_by_bins(), duplicates, std::size_t{1} << log));
  }
  return figure;
}
Figure hashgraph_sizes() {
  Figure figure{"hashgraph-sizes", "HashGraph V2 by size, 2^19 to 2^27 keys (Fig. 5)", {}};
  for (const int log : {19, 21, 23, 25, 27}) {
    for (const double duplicates : {1., 8., 32.})
      figure.series.push_back(of_duplicates(named("hashgraph-v2"), duplicates, std::size_t{1} << log));
  }
  return figure;
}

/// Sections 5.1 and 5.2: beside tables with open addressing, whose load is another: keys by slots.
Figure hashgraph_peers() {
  const std::vector<double> loads = {0.5, 0.6, 0.7, 0.8, 0.9};
  Choice warp_drive = named("warpdrive");
  warp_drive.windows = {32};
  return {"hashgraph-peers",
          "HashGraph, WarpDrive and 1CHT by load, each key once (Figs. 2 and 6)",
          {found_or_not({.tables = {"hashgraph-v1", "hashgraph-v2", "hashgraph-v2-new"},
                         .groups = {},
                         .buckets = {},
                         .windows = {}},
                        loads, kHashGraphPairs),
           found_or_not(warp_drive, loads, kHashGraphPairs),
           found_or_not(named("1cht"), loads, kHashGraphPairs)}};
}

/// Section 5.3: each key once.
Figure hashgraph_load() {
  Series series = found_or_not(hash_graphs(), {0.5, 0.75, 1, 1.5, 2, 3, 4}, kHashGraphPairs);
  return {
      "hashgraph-load", "the same by load factor, entries by buckets, 0.5 to 4 (Figs. 2, 6 and 8)", {series}};
}

/// Returns the experiment with which the best public tables are compared (docs/results.md#tables).
Figure peers() {
  Choice open_addressing;
  open_addressing.open_addressing = true;
  Series series{.choice = open_addressing, .loads = {0.5, 0.8, 0.9, 0.95, 0.97}};
  series.pairs = std::size_t{1} << 28;
  return {"peers",
          "every table with slots, 2^28 unique keys, at the loads that other libraries were measured at",
          {series}};
}

}  // namespace

bool Choice::takes(const Configuration& configuration) const {
  const int window = configuration.window == 0 ? configuration.bucket : configuration.window;
  return is_in(tables, std::string(configuration.table)) && is_in(groups, configuration.group) &&
         is_in(buckets, configuration.bucket) && is_in(windows, window) &&
         (!open_addressing || configuration.has_first_bucket);
}

const std::vector<Figure>& figures() {
  static const std::vector<Figure> all = {warpdrive7(),        warpdrive8(),     warpdrive8_last(),
                                          bcht_table3(),       bcht_sizes(),     bcht_success(),
                                          iceberg_threshold(), peers(),          slabhash4(),
                                          slabhash5(),         slabhash6(),      slabhash7(),
                                          slabhash7_chained(), slaballoc(),      hashgraph_duplicates(),
                                          hashgraph_load(),    hashgraph_bins(), hashgraph_sizes(),
                                          hashgraph_peers()};
  return all;
}

}  // namespace warpmer::bench
