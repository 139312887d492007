#include "tables/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "tables/experiment.h"
#include "tables/figures.h"
#include "tables/report.h"

namespace warpmer::bench {
namespace {

/// Sizes below this are logarithms.
constexpr std::uint64_t kLeastPairs = 40;
constexpr std::uint64_t kDefaultSize = 20;

struct Options {
  Choice choice;
  std::vector<double> loads = {0.8};
  std::vector<std::string> keys = {"unique"};
  std::uint64_t size = 0;  ///< 0: not given
  double repeats = 8;
  Method method;
  bool skip_probes = false;
  std::string figure, device = "auto", csv, json;
  unsigned threads = 0;
};

std::uint64_t pairs_of(std::uint64_t size) { return size < kLeastPairs ? std::uint64_t{1} << size : size; }

Distribution distribution_of(const std::string& name) {
  for (const auto one : {Distribution::unique, Distribution::uniform, Distribution::zipf}) {
    if (name == name_of(one)) return one;
  }
  throw UsageError(fmt::format("--keys {}: there are unique, uniform and zipf", name));
}

std::unique_ptr<Workbench> make_workbench(const Options& options) {
  if (options.device == "cpu" || (options.device == "auto" && gpus_there_are() == 0))
    return make_host_workbench(options.threads);
  int number = 0;
  if (options.device != "auto" && options.device != "cuda") {
    const std::string prefix = "cuda:";
    const char* end = options.device.data() + options.device.size();
    const char* digits = options.device.data() + std::min(prefix.size(), options.device.size());
    const auto parsed = std::from_chars(digits, end, number);
    if (options.device.rfind(prefix, 0) != 0 || parsed.ec != std::errc() || parsed.ptr != end || number < 0)
      throw UsageError(fmt::format("--device {}: there are auto, cpu, cuda and cuda:N", options.device));
  }
  return make_gpu_workbench(number);
}

/// What is to be done: a figure's series, or the one that the options describe.
std::vector<Series> plan(const Options& options) {
  if (options.figure.empty()) {
    Series series{.choice = options.choice, .loads = options.loads};
    series.distributions.clear();
    for (const std::string& name : options.keys) series.distributions.push_back(distribution_of(name));
    series.repeats = options.repeats;
    series.hits_percent = options.method.hits_percent;
    return {series};
  }
  for (const Figure& figure : figures()) {
    if (figure.name == options.figure) return figure.series;
  }
  throw UsageError(fmt::format("--figure {}: there is none of this name; --help has a list", options.figure));
}

class Driver {
 public:
  explicit Driver(const Options& options) : options_(options), bench_(make_workbench(options)) {}

  int run() {
    const std::vector<Series> all = plan(options_);
    check(all);
    for (const Series& series : all) run(series);
    if (rows_.empty()) {
      throw UsageError(
          "no table of this group, bucket and window takes one of these loads; without these options all do");
    }
    if (!options_.csv.empty()) write_report(options_.csv, csv_of(rows_));
    if (!options_.json.empty()) write_report(options_.json, json_of(rows_));
    const bool wrong =
        std::any_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.outcome == Outcome::wrong; });
    return wrong ? 5 : 0;
  }

 private:
  void check(const std::vector<Series>& all) const {
    std::vector<std::string> names;
    for (const TableEntry& entry : bench_->tables()) names.emplace_back(entry.configuration.table);
    for (const Series& series : all) {
      for (const std::string& name : series.choice.tables) {
        if (std::find(names.begin(), names.end(), name) == names.end()) {
          throw UsageError(
              fmt::format("--table {}: there is none of this name on {}", name, bench_->device()));
        }
      }
      for (const double load : series.loads) {
        if (!(load > 0 && load < 1))
          throw UsageError(fmt::format("--load {}: it must be above 0 and below 1", load));
      }
      for (const std::uint32_t hits : series.hits_percent) {
        if (hits > 100) throw UsageError(fmt::format("--hits {}: no more than 100 percent", hits));
      }
      if (!(series.repeats > 0)) throw UsageError("--repeats must be above 0");
      for (const Distribution distribution : series.distributions) {
        const auto keys = static_cast<double>(pairs(series));
        const double universe = distribution == Distribution::unique ? keys : keys / series.repeats;
        // Absent keys come after all others.
        if (universe + keys > static_cast<double>(kKeyNumbers))
          throw UsageError("--size: 32-bit keys last for 2^31 - 1 pairs and as many lookups of absent keys");
      }
    }
    if (options_.method.builds == 0 || options_.method.rounds == 0)
      throw UsageError("--builds and --rounds must be at least 1");
  }

  /// The command line's size goes before a figure's.
  [[nodiscard]] std::uint64_t pairs(const Series& series) const {
    if (options_.size != 0) return pairs_of(options_.size);
    return series.pairs != 0 ? series.pairs : pairs_of(kDefaultSize);
  }

  void run(const Series& series) {
    for (const Distribution distribution : series.distributions) {
      KeyPlan keys;
      keys.distribution = distribution;
      keys.pairs = pairs(series);
      keys.universe =
          distribution == Distribution::unique
              ? keys.pairs
              : std::max<std::uint64_t>(1, std::llround(static_cast<double>(keys.pairs) / series.repeats));
      keys.seed = options_.method.seed;
      Method method = options_.method;
      method.hits_percent = series.hits_percent;
      method.count_probes = !options_.skip_probes;
      if (series.builds != 0) method.builds = series.builds;
      if (series.rounds != 0) method.rounds = series.rounds;
      run(series, keys, method);
    }
  }

  void run(const Series& series, const KeyPlan& keys, const Method& method) {
    if (method.hits_percent != shown_hits_) {
      TextReport().begin(method.hits_percent);
      shown_hits_ = method.hits_percent;
    }
    const std::size_t distinct = bench_->make_pairs(keys);
    for (const TableEntry& entry : bench_->tables()) {
      if (!series.choice.takes(entry.configuration)) continue;
      for (const double load : series.loads) {
        if (load > entry.configuration.most_load + 1e-9) continue;
        rows_.push_back(run_experiment(*bench_, entry, keys, distinct, load, method));
        TextReport().add(rows_.back());
      }
    }
  }

  const Options& options_;
  std::unique_ptr<Workbench> bench_;
  std::vector<Row> rows_;
  std::vector<std::uint32_t> shown_hits_;
};

std::string footer() {
  std::string text =
      "Rows are printed as they are measured: Mops/s by the device's clock (medians), buckets looked at for "
      "each\n"
      "operation, bytes of the table for each key, builds that placed every key where the paper's scheme "
      "would (a\n"
      "stash counts as failure), and whether all answers were verified. The exit status is 0 when they were, "
      "5 when\n"
      "one was wrong, 2 for a wrong command line, 4 when memory or a device is missing.\n\nFigures:\n";
  for (const Figure& figure : figures()) text += fmt::format("  {:<12} {}\n", figure.name, figure.what);
  return text;
}

}  // namespace

void add_tables_command(CLI::App& app, int& status) {
  const auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand("tables", "Hash tables of 32-bit keys and 32-bit values");
  command.footer(footer());
  const auto list = [&](const char* name, auto& values, const char* what) {
    return command.add_option(name, values, what)->delimiter(',');
  };
  list("--table", options->choice.tables, "warpdrive, bcht, 1cht, megakv, iceberg; all when not given");
  list("--group", options->choice.groups, "only groups of so many lanes");
  list("--bucket", options->choice.buckets, "only tables that look at so many slots together");
  list("--window", options->choice.windows, "only tables that walk so many slots before the next hash");
  list("--load", options->loads, "share of slots filled, above 0 and below 1")->capture_default_str();
  list("--keys", options->keys, "unique; or uniform or zipf (s = 1 + 1e-6), which are counted")
      ->capture_default_str();
  command.add_option("--repeats", options->repeats, "pairs for each key that uniform and zipf draw from")
      ->capture_default_str();
  list("--hits", options->method.hits_percent, "percent of lookups that find something")
      ->capture_default_str();
  command.add_option("--size", options->size,
                     "pairs; below 40: their logarithm to base 2 [20, or the figure's]");
  command.add_option("--builds", options->method.builds, "builds, with different hash functions")
      ->capture_default_str();
  command.add_option("--rounds", options->method.rounds, "rounds of lookups")->capture_default_str();
  command.add_option("--seed", options->method.seed, "of the first build, and of the keys drawn")
      ->capture_default_str();
  command.add_flag("--ahead", options->method.ahead, "fetch the next key's first bucket before its turn");
  command.add_flag("--split", options->method.split,
                   "GPU: put pairs in order of their buckets, roughly, before inserting; part of the time");
  command.add_flag("--no-probes", options->skip_probes, "do not count the buckets looked at");
  command.add_option("--figure", options->figure,
                     "an experiment of a paper, see below, instead of all the above");
  command.add_option("--device", options->device, "auto, cpu, cuda or cuda:N")->capture_default_str();
  command.add_option("--threads", options->threads, "of the CPU; 0: one for each core")
      ->capture_default_str();
  command.add_option("--csv", options->csv, "also write all rows here, - is standard output");
  command.add_option("--json", options->json, "the same as JSON");
  command.callback([options, &status] { status = Driver(*options).run(); });
}

}  // namespace warpmer::bench
