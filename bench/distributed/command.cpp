#include "distributed/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "distributed/experiments.h"
#include "distributed/row_report.h"
#include "tables/report.h"

namespace warpmer::bench {
namespace {

constexpr std::size_t kMostDevices = 64;
/// Sizes are logarithms.
constexpr std::uint32_t kLeastSize = 4, kMostSize = 32, kMostBatch = 30;
/// The factor to milliseconds, in which the seconds of a stage are reported.
constexpr double kMilliseconds = 1000;
constexpr const char* kMedianOfRounds = "measurements, of which the median is shown";

struct Options {
  std::vector<int> ordinals;
  std::vector<std::uint32_t> counts;  ///< so many of the ordinals, from the first
  std::vector<std::uint32_t> sizes = {28};
  bool each = false;
  std::vector<std::string> keys = {"unique"}, sides = {"device"};
  std::vector<std::uint32_t> pipelines = {1};
  std::uint32_t batch = 24;
  double load = 0.95, repeats = 8;
  std::vector<double> part_mib = {1, 16, 256, 1024};
  std::vector<std::uint32_t> parts = {2, 4, 8, 64}, element_bytes = {4, 8, 16, 32};
  bool through_host = false;
  std::uint32_t rounds = 3;
  std::string csv, json;
};

template <class T>
void check_range(const char* option, const std::vector<T>& values, T least, T most) {
  for (const T value : values) {
    if (value < least || value > most)
      throw UsageError(fmt::format("{} {}: it must be from {} to {}", option, value, least, most));
  }
}

/// One of `names`, by its place.
std::size_t choose(const char* option, const std::string& name, const std::vector<std::string>& names) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  std::string all;
  for (const std::string& one : names) all += (all.empty() ? "" : ", ") + one;
  throw UsageError(fmt::format("{} {}: there are {}", option, name, all));
}

/// Sets the devices: those that are asked for, or those there are.
void choose_devices(Options& options) {
  const Ordinals usable = usable_gpus();
  if (usable.empty()) {
    throw ResourceError(
        "this experiment needs a GPU, and there is none that warpmer can use (warpmer devices says why)");
  }
  if (options.ordinals.empty()) options.ordinals = usable;
  for (const int ordinal : options.ordinals) {
    if (std::find(usable.begin(), usable.end(), ordinal) == usable.end())
      throw ResourceError(fmt::format("--device {}: there is no such GPU that warpmer can use", ordinal));
  }
  if (options.counts.empty()) options.counts = {static_cast<std::uint32_t>(options.ordinals.size())};
  for (const std::uint32_t count : options.counts) {
    if (count == 0 || count > options.ordinals.size())
      throw UsageError(fmt::format("--count {}: there are 1 to {} devices", count, options.ordinals.size()));
  }
}

Ordinals first_of(const Options& options, std::uint32_t count) {
  return {options.ordinals.begin(), options.ordinals.begin() + count};
}

/// Returns the values with which all rows begin.
RowReport::Row row_of(const Ordinals& ordinals, bool through_host) {
  RowReport::Row row;
  row["gpu"] = gpu_name(ordinals.front());
  row["devices"] = ordinals.size();
  row["gpus"] = std::set<int>(ordinals.begin(), ordinals.end()).size();
  row["route"] = through_host ? "host" : "direct";
  return row;
}

/// Runs cascades as the options describe them.
class CascadeDriver {
 public:
  explicit CascadeDriver(const Options& options) : options_(options), report_(options.csv, options.json) {}

  int run() {
    for (const std::string& keys : options_.keys) {
      for (const std::uint32_t size : options_.sizes) {
        for (const std::uint32_t count : options_.counts) run(keys, size, count);
      }
    }
    report_.finish();
    return is_right_ ? 0 : 5;
  }

 private:
  void run(const std::string& keys, std::uint32_t size, std::uint32_t count) {
    CascadeSetting setting{};
    setting.ordinals = first_of(options_, count);
    setting.keys = plan_of(keys, size, count);
    setting.load = options_.load;
    setting.batch = std::size_t{1} << options_.batch;
    for (const std::string& side : options_.sides)
      setting.from_host.push_back(choose("--side", side, {"device", "host"}) == 1);
    setting.pipelines = options_.pipelines;
    setting.through_host = options_.through_host;
    setting.rounds = options_.rounds;
    run_cascades(setting, [&](const CascadeResult& result) {
      is_right_ = is_right_ && result.is_right();
      keep(setting, result, "insert", result.insert, size);
      keep(setting, result, "find", result.find, size);
    });
  }

  /// Returns a plan with at most as many pairs as there are keys.
  [[nodiscard]] KeyPlan plan_of(const std::string& keys, std::uint32_t size, std::uint32_t count) const {
    KeyPlan plan;
    plan.distribution = static_cast<Distribution>(choose("--keys", keys, {"unique", "uniform", "zipf"}));
    plan.pairs = (std::uint64_t{1} << size) * (options_.each ? count : 1);
    if (plan.distribution == Distribution::unique) {
      plan.pairs = std::min<std::uint64_t>(plan.pairs, kKeyNumbers);
      plan.universe = plan.pairs;
    } else {
      const double universe = static_cast<double>(plan.pairs) / options_.repeats;
      plan.universe = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(universe), 1, kKeyNumbers);
    }
    return plan;
  }

  void keep(const CascadeSetting& setting, const CascadeResult& result, const char* name,
            const CascadeOperation& operation, std::uint32_t size) {
    RowReport::Row row = row_of(setting.ordinals, result.through_host);
    row["keys"] = name_of(setting.keys.distribution);
    row["pairs"] = setting.keys.pairs;
    row["distinct"] = result.distinct;
    row["slots"] = result.slots;
    row["load"] = static_cast<double>(result.distinct) / static_cast<double>(result.slots);
    row["batch"] = setting.batch;
    row["side"] = result.from_host ? "host" : "device";
    row["pipelines"] = result.pipelines;
    row["operation"] = name;
    const double gops = static_cast<double>(setting.keys.pairs) / operation.seconds * 1e-9;
    row["ms"] = operation.seconds * kMilliseconds;
    row["gops"] = gops;
    row["efficiency"] = efficiency(row, size, gops, setting.ordinals.size());
    for (const auto& [stage, seconds] : operation.stages) row[stage] = seconds * kMilliseconds;
    row["overflow"] = result.overflow;
    row["lost"] = result.lost;
    row["wrong"] = result.wrong;
    row["verified"] = result.is_right() ? "ok" : "WRONG";
    report_.add(std::move(row), {"gpu", "gpus", "distinct", "slots", "batch", "overflow", "lost", "wrong"});
  }

  /// The paper's equation 4, strong or weak, which is the rate of a device by that of one alone; nothing
  /// before one alone was measured.
  RowReport::Row efficiency(const RowReport::Row& row, std::uint32_t size, double gops, std::size_t devices) {
    const auto same =
        std::tuple(row["keys"].get<std::string>(), row["side"].get<std::string>(),
                   row["operation"].get<std::string>(), row["pipelines"].get<std::uint32_t>(), size);
    if (devices == 1) rates_of_one_[same] = gops;
    const auto alone = rates_of_one_.find(same);
    if (alone == rates_of_one_.end()) return nullptr;
    return gops / static_cast<double>(devices) / alone->second;
  }

  const Options& options_;
  RowReport report_;
  std::map<std::tuple<std::string, std::string, std::string, std::uint32_t, std::uint32_t>, double>
      rates_of_one_;
  bool is_right_ = true;
};

int run_distributed(Options& options) {
  check_range("--size", options.sizes, kLeastSize, kMostSize);
  check_range("--batch", std::vector{options.batch}, kLeastSize, kMostBatch);
  check_range("--pipelines", options.pipelines, 1u, 16u);
  check_range("--rounds", std::vector{options.rounds}, 1u, 1000u);
  if (!(options.load > 0 && options.load < 1))
    throw UsageError(fmt::format("--load {}: it must be above 0 and below 1", options.load));
  if (!(options.repeats >= 1)) throw UsageError("--repeats must be at least 1");
  for (const std::string& keys : options.keys) choose("--keys", keys, {"unique", "uniform", "zipf"});
  for (const std::string& side : options.sides) choose("--side", side, {"device", "host"});
  choose_devices(options);
  return CascadeDriver(options).run();
}

int run_exchange(Options& options) {
  check_range("--part", options.part_mib, 1. / 1024, 16384.);
  check_range("--rounds", std::vector{options.rounds}, 1u, 1000u);
  choose_devices(options);
  if (*std::min_element(options.counts.begin(), options.counts.end()) < 2)
    throw UsageError("an exchange takes at least two devices; --device 0,0 makes two of one GPU");
  RowReport report(options.csv, options.json);
  bool is_right = true;
  for (const std::uint32_t count : options.counts) {
    ExchangeSetting setting{first_of(options, count), {}, options.through_host, options.rounds};
    for (const double mib : options.part_mib)
      setting.part_bytes.push_back(static_cast<std::size_t>(std::llround(mib * (1 << 20))) / 8 * 8);
    run_exchanges(setting, [&](const ExchangeResult& result) {
      RowReport::Row row = row_of(setting.ordinals, result.through_host);
      row["part_bytes"] = result.part_bytes;
      row["order"] = result.in_ring_order ? "ring" : "same";
      row["ms"] = result.seconds * kMilliseconds;
      row["gb_per_s"] = static_cast<double>(result.part_bytes * (count - 1)) / result.seconds * 1e-9;
      row["wrong"] = result.wrong;
      row["verified"] = result.wrong == 0 ? "ok" : "WRONG";
      is_right = is_right && result.wrong == 0;
      report.add(std::move(row), {"gpu", "wrong"});
    });
  }
  report.finish();
  return is_right ? 0 : 5;
}

int run_multisplit(Options& options) {
  check_range("--size", options.sizes, kLeastSize, kMostSize);
  check_range("--parts", options.parts, 1u, 64u);
  check_range("--rounds", std::vector{options.rounds}, 1u, 1000u);
  for (const std::uint32_t bytes : options.element_bytes)
    choose("--element", fmt::format("{}", bytes), {"4", "8", "16", "32"});
  choose_devices(options);
  RowReport report(options.csv, options.json);
  bool is_right = true;
  for (const std::uint32_t size : options.sizes) {
    const MultisplitSetting setting{options.ordinals.front(), options.parts, options.element_bytes,
                                    std::size_t{1} << size, options.rounds};
    run_multisplits(setting, [&](const MultisplitResult& result) {
      const double gigabytes = static_cast<double>(setting.elements) * result.element_bytes * 1e-9;
      RowReport::Row row;
      row["gpu"] = gpu_name(setting.ordinal);
      row["elements"] = setting.elements;
      row["bytes"] = result.element_bytes;
      row["parts"] = result.parts;
      row["ms"] = result.warpmer_seconds * kMilliseconds;
      row["cub_ms"] = result.cub_seconds * kMilliseconds;
      row["restore_ms"] = result.restore_seconds * kMilliseconds;
      // Read and written, as the paper counts.
      row["gb_per_s"] = 2 * gigabytes / result.warpmer_seconds;
      row["cub_gb_per_s"] = 2 * gigabytes / result.cub_seconds;
      row["wrong"] = result.wrong;
      row["verified"] = result.wrong == 0 ? "ok" : "WRONG";
      is_right = is_right && result.wrong == 0;
      report.add(std::move(row), {"gpu", "wrong"});
    });
  }
  report.finish();
  return is_right ? 0 : 5;
}

/// A subcommand with what all three have.
CLI::App& add_command(CLI::App& app, const char* name, const char* what, Options& options, int& status,
                      int (*run)(Options&), const char* rounds) {
  CLI::App& command = *app.add_subcommand(name, what);
  command
      .add_option("--device", options.ordinals,
                  "numbers of GPUs, as in `warpmer devices`; all when not given. A number may come\n"
                  "more than once: 0,0,0,0 makes four devices of one GPU")
      ->delimiter(',');
  command.add_option("--rounds", options.rounds, rounds)->capture_default_str();
  command.add_option("--csv", options.csv, "also write all rows here, - is standard output");
  command.add_option("--json", options.json, "the same as JSON");
  command.callback([&options, &status, run] { status = run(options); });
  return command;
}

template <class T>
void add_list(CLI::App& command, const char* name, std::vector<T>& values, const char* what) {
  CLI::Option& option = *command.add_option(name, values, what)->delimiter(',');
  if (!values.empty()) option.capture_default_str();
}

void add_cascades(CLI::App& app, Options& options, int& status) {
  CLI::App& command =
      add_command(app, "distributed", "Insertions and lookups in a WarpDrive table that lies on several GPUs",
                  options, status, run_distributed, kMedianOfRounds);
  add_list(command, "--count", options.counts,
           "only so many of the devices; several numbers for a comparison");
  add_list(command, "--size", options.sizes,
           "logarithm of the number of pairs, in all; of unique keys there are 2^32 - 2");
  command.add_flag("--each", options.each, "the size is that of each device");
  add_list(command, "--keys", options.keys, "unique, uniform, zipf");
  command.add_option("--repeats", options.repeats, "pairs for each key that uniform and zipf draw from")
      ->capture_default_str();
  add_list(command, "--side", options.sides,
           "device: data lie on the GPUs; host: they come from there, and answers go back");
  add_list(command, "--pipelines", options.pipelines, "batches under way at a time");
  command.add_option("--batch", options.batch, "logarithm of the pairs that a device brings at a time")
      ->capture_default_str();
  command.add_option("--load", options.load, "of the table")->capture_default_str();
  command.add_flag("--through-host", options.through_host, "GPUs do not reach each other's memory");
  command.footer(
      "gops are 10^9 pairs or keys of all devices together, by the host's clock. Stages are milliseconds of "
      "a\n"
      "device's stream, in the mean of the devices and summed over batches; those of several pipelines\n"
      "overlap. Efficiency is the rate of a device by that of one alone, where --count has 1 first: strong\n"
      "scaling, with --each weak scaling (Juenger et al. 2018, equation 4). Every answer is checked. The "
      "exit\n"
      "status is 0 when all were right, 5 when one was wrong, 2 for a wrong command line, 4 when memory or "
      "a\n"
      "device is missing.");
}

}  // namespace

void add_distributed_commands(CLI::App& app, int& status) {
  // They live as long as the program: the application's options refer to them.
  static Options cascades, exchanges, multisplits;
  add_cascades(app, cascades, status);

  exchanges.rounds = 10;
  CLI::App& exchange =
      add_command(app, "exchange", "Transpositions between GPUs, parts of the same size", exchanges, status,
                  run_exchange, "transpositions one after another, timed together");
  add_list(exchange, "--count", exchanges.counts,
           "only so many of the devices; several numbers for a comparison");
  add_list(exchange, "--part", exchanges.part_mib, "MiB that each device sends to each other");
  exchange.add_flag("--through-host", exchanges.through_host, "GPUs do not reach each other's memory");

  multisplits.rounds = 9;
  CLI::App& multisplit = add_command(app, "multisplit", "Multisplit on a GPU, warpmer's and by CUB's sort",
                                     multisplits, status, run_multisplit, kMedianOfRounds);
  add_list(multisplit, "--size", multisplits.sizes, "logarithm of the number of elements");
  add_list(multisplit, "--parts", multisplits.parts, "1 to 64");
  add_list(multisplit, "--element", multisplits.element_bytes, "bytes: 4, 8, 16, 32");
}

}  // namespace warpmer::bench
