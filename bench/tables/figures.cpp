#include "tables/figures.h"

#include <algorithm>

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

/// Awad et al. 2023, section 7: 50 million keys, and averages over loads; probes at the highest loads;
/// success rates of 200 builds.
Figure bcht_table3() {
  constexpr std::size_t kKeys = 50'000'000;
  const auto speed = [](Choice choice, std::vector<double> loads) {
    Series series{.choice = std::move(choice), .loads = std::move(loads)};
    series.pairs = kKeys;
    return series;
  };
  const auto success = [](Choice choice, double load) {
    Series series{.choice = std::move(choice), .loads = {load}};
    series.pairs = kKeys;
    series.builds = 200;
    series.rounds = 1;
    return series;
  };
  const Choice bcht{.tables = {"bcht"}, .groups = {}, .buckets = {8, 16}, .windows = {}};
  const Choice one_slot{.tables = {"1cht"}, .groups = {}, .buckets = {}, .windows = {}};
  const Choice iceberg{.tables = {"iceberg"}, .groups = {}, .buckets = {}, .windows = {}};
  return {
      "bcht-table3",
      "BCHT, 1CHT and IHT: speed, probes, success rates (Awad et al. 2023, Table 3, sections 7.3 and 7.4)",
      {speed(bcht, {0.6, 0.7, 0.8, 0.9, 0.95, 0.99}), speed(one_slot, {0.6, 0.7, 0.8, 0.9}),
       speed(iceberg, {0.6, 0.7, 0.8, 0.86, 0.9, 0.92}),
       success({.tables = {"bcht"}, .groups = {4}, .buckets = {16}, .windows = {}}, 0.98),
       success(one_slot, 0.88),
       success({.tables = {"iceberg"}, .groups = {8}, .buckets = {32}, .windows = {}}, 0.91)}};
}

/// What the best public tables are compared at (docs/benchmarks.md).
Figure peers() {
  Series series{.choice = {}, .loads = {0.5, 0.8, 0.9, 0.95, 0.97}};
  series.pairs = std::size_t{1} << 28;
  return {
      "peers", "every table, 2^28 unique keys, at the loads that other libraries were measured at", {series}};
}

}  // namespace

bool Choice::takes(const Configuration& configuration) const {
  const int window = configuration.window == 0 ? configuration.bucket : configuration.window;
  return is_in(tables, std::string(configuration.table)) && is_in(groups, configuration.group) &&
         is_in(buckets, configuration.bucket) && is_in(windows, window);
}

const std::vector<Figure>& figures() {
  static const std::vector<Figure> all = {warpdrive7(), warpdrive8(), bcht_table3(), peers()};
  return all;
}

}  // namespace warpmer::bench
