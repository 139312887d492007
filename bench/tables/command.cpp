#include "tables/command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "tables/dynamic_experiments.h"
#include "tables/experiment.h"
#include "tables/figures.h"
#include "tables/hash_graph_tables.h"
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
  bool last_writer = false;
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

/// Returns the series to run: a figure's series, or the one that the options describe.
std::vector<Series> plan(const Options& options) {
  if (options.figure.empty()) {
    Series series{.choice = options.choice, .loads = options.loads};
    series.distributions.clear();
    for (const std::string& name : options.keys) series.distributions.push_back(distribution_of(name));
    series.repeats = options.repeats;
    series.last_writer = options.last_writer;
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
    for (const Series& series : all) largest_ = std::max(largest_, series.pairs);
    check(all);
    for (const Series& series : all) run(series);
    if (rows_.empty()) {
      throw UsageError(
          "no table of this group, bucket and window takes one of these loads and keys; without these "
          "options "
          "some do");
    }
    if (!options_.csv.empty()) write_report(options_.csv, csv_of(rows_));
    if (!options_.json.empty()) write_report(options_.json, json_of(rows_));
    const bool wrong =
        std::any_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.outcome == Outcome::wrong; });
    return wrong ? 5 : 0;
  }

 private:
  void check(const std::vector<Series>& all) const {
    for (const Series& series : all) {
      check_tables(series);
      for (const std::uint32_t hits : series.hits_percent) {
        if (hits > 100) throw UsageError(fmt::format("--hits {}: no more than 100 percent", hits));
      }
      if (!(series.repeats > 0)) throw UsageError("--repeats must be above 0");
      for (const Distribution distribution : series.distributions) {
        const auto keys = static_cast<double>(pairs(series));
        // Keys that operations insert come after those that are there.
        const double universe = series.kind == Kind::mix               ? 2 * keys
                                : distribution == Distribution::unique ? keys
                                                                       : keys / series.repeats;
        // Absent keys come after all others.
        if (universe + keys > static_cast<double>(kKeyNumbers))
          throw UsageError("--size: 32-bit keys last for 2^31 - 1 pairs and as many lookups of absent keys");
      }
    }
    if (options_.method.builds == 0 || options_.method.rounds == 0)
      throw UsageError("--builds and --rounds must be at least 1");
    if (options_.method.split && !bench_->splits())
      throw UsageError(fmt::format("--split: pairs are not split on {}; leave it out", bench_->device()));
  }

  void check_tables(const Series& series) const {
    // Only in a HashGraph and a chained table there may be more elements than buckets; these have to be asked
    // for.
    double most_load = 1;
    if (!series.choice.tables.empty()) most_load = kMostHashGraphLoad;
    for (const std::string& name : series.choice.tables) {
      bool is_there = false;
      for (const TableEntry& entry : bench_->tables()) {
        if (entry.configuration.table != name) continue;
        is_there = true;
        most_load = std::min(most_load, std::max(1.0, entry.configuration.most_load));
      }
      if (!is_there)
        throw UsageError(fmt::format("--table {}: there is none of this name on {}", name, bench_->device()));
    }
    for (const double load : series.loads) {
      if (!(load > 0 && load < most_load))
        throw UsageError(fmt::format("--load {}: it must be above 0 and below {}", load, most_load));
    }
  }

  /// The command line's size goes before a figure's; of several sizes it is the largest, and the others are
  /// as much smaller as the figure has them.
  [[nodiscard]] std::uint64_t pairs(const Series& series) const {
    if (options_.size == 0) return series.pairs != 0 ? series.pairs : pairs_of(kDefaultSize);
    if (series.pairs == 0) return pairs_of(options_.size);
    const double share = static_cast<double>(series.pairs) / static_cast<double>(largest_);
    return std::max<std::uint64_t>(1, std::llround(share * static_cast<double>(pairs_of(options_.size))));
  }

  void run(const Series& series) {
    Method method = options_.method;
    method.hits_percent = series.hits_percent;
    method.count_probes = !options_.skip_probes;
    if (series.builds != 0) method.builds = series.builds;
    if (series.rounds != 0) method.rounds = series.rounds;
    if (series.kind == Kind::allocation) {
      for (const AllocatorEntry& entry : bench_->allocators())
        keep(run_allocations(*bench_, entry, pairs(series), method));
      return;
    }
    for (const Distribution distribution : series.distributions) {
      KeyPlan keys;
      keys.distribution = distribution;
      keys.pairs = pairs(series);
      keys.universe =
          distribution == Distribution::unique
              ? keys.pairs
              : std::max<std::uint64_t>(1, std::llround(static_cast<double>(keys.pairs) / series.repeats));
      keys.seed = options_.method.seed;
      keys.last_writer = series.last_writer && distribution != Distribution::unique;
      run(series, keys, method);
    }
  }

  void run(const Series& series, const KeyPlan& keys, const Method& method) {
    const std::size_t distinct = bench_->make_pairs(keys);
    for (const TableEntry& entry : bench_->tables()) {
      if (!series.choice.takes(entry.configuration) || !takes(entry.configuration, keys)) continue;
      for (const double load : series.loads) {
        if (load > entry.configuration.most_load + 1e-9) continue;
        if (series.kind == Kind::table) {
          keep(run_experiment(*bench_, entry, keys, distinct, load, method));
        } else {
          run_dynamic(series, entry, keys, load, method);
        }
      }
    }
  }

  void run_dynamic(const Series& series, const TableEntry& entry, const KeyPlan& keys, double load,
                   const Method& method) {
    for (const Mix& mix : series.mixes) {
      if (entry.configuration.serves) keep(run_mix(*bench_, entry, keys, load, mix, method));
    }
    for (const std::uint32_t batches : series.batches) {
      const std::size_t batch = std::max<std::size_t>(1, keys.pairs / batches);
      const auto run = series.kind == Kind::batches ? run_batches : run_rebuilds;
      for (Row& row : run(*bench_, entry, keys, load, batch, method)) keep(std::move(row));
    }
  }

  static bool takes(const Configuration& configuration, const KeyPlan& keys) {
    if (keys.last_writer) return configuration.replaces;
    return keys.distribution == Distribution::unique || configuration.repeats == Repeats::any ||
           (keys.distribution == Distribution::uniform && configuration.repeats == Repeats::evenly);
  }

  /// Prints a row, and keeps it for the files.
  void keep(Row row) {
    row.figure = options_.figure;
    const std::string heading =
        row.others.empty() ? fmt::format("{}", fmt::join(row.method.hits_percent, " ")) : "others";
    if (heading != shown_heading_ && row.others.empty()) TextReport().begin(row.method.hits_percent);
    if (heading != shown_heading_ && !row.others.empty()) TextReport().begin_others();
    shown_heading_ = heading;
    TextReport().add(row);
    rows_.push_back(std::move(row));
  }

  const Options& options_;
  std::unique_ptr<Workbench> bench_;
  std::vector<Row> rows_;
  std::string shown_heading_;
  std::size_t largest_ = 0;  ///< number of pairs that the figure has
};

std::string footer() {
  std::string text =
      "Rows are printed as they are measured: Mops/s by the device's clock (medians), buckets looked at for "
      "each\n"
      "operation, share of the memory that holds elements (util), bytes of the table for each key, builds "
      "that\n"
      "placed every key where the paper's scheme would (a stash counts as failure), and whether all answers "
      "were\n"
      "verified. The exit status is 0 when they were, 5 when one was wrong, 2 for a wrong command line, 4 "
      "when\n"
      "memory or a device is missing.\n\n"
      "Tables: slab is the slab hash of pairs with SlabAlloc-light, slab-full the same with super blocks, "
      "slab64\n"
      "has 64-bit keys with counts. HashGraphs look keys up by probe-standard, those that end in -new by\n"
      "probe-new; in grouped ones a key's entries are adjacent; -N-bins (32, 256, 1024, 4096, 8192) says "
      "how\n"
      "many bins V2 has. chained is a peer of the slab hash: linked lists of nodes.\n\nFigures:\n";
  for (const Figure& figure : figures()) text += fmt::format("  {:<21} {}\n", figure.name, figure.what);
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
  list("--table", options->choice.tables,
       "warpdrive, bcht, 1cht, megakv, iceberg, cuckoo-late and cuckoo-late-2 (GPU),\n"
       "slab, slab-full, slab64, hashgraph-v1, hashgraph-v2, hashgraph-v2-new,\n"
       "hashgraph-v2-grouped, hashgraph-v2-grouped-new, hashgraph-v2-N-bins,\n"
       "chained; all when not given");
  list("--group", options->choice.groups, "only groups of so many lanes");
  list("--bucket", options->choice.buckets, "only tables that look at so many slots together");
  list("--window", options->choice.windows, "only tables that walk so many slots before the next hash");
  list("--load", options->loads,
       "share of slots filled, above 0 and below 1; of HashGraphs and chained: entries by buckets,\n"
       "below 16")
      ->capture_default_str();
  list("--keys", options->keys, "unique; or uniform or zipf (s = 1 + 1e-6), which are counted")
      ->capture_default_str();
  command.add_option("--repeats", options->repeats, "pairs for each key that uniform and zipf draw from")
      ->capture_default_str();
  command.add_flag(
      "--last-writer", options->last_writer,
      "keys that repeat are not counted: the value that was written last stays (warpdrive, slab,\n"
      "slab-full, chained)");
  list("--hits", options->method.hits_percent, "percent of lookups that find something")
      ->capture_default_str();
  command.add_option(
      "--size", options->size,
      "pairs, of a figure in its largest table; below 40: their logarithm to base 2 [20, or the\n"
      "figure's]");
  command.add_option("--builds", options->method.builds, "builds, with different hash functions")
      ->capture_default_str();
  command.add_option("--rounds", options->method.rounds, "rounds of lookups")->capture_default_str();
  command.add_option("--seed", options->method.seed, "of the first build, and of the keys drawn")
      ->capture_default_str();
  command.add_flag("--ahead", options->method.ahead,
                   "fetch the next key's first bucket before its turn; not in slab hashes and HashGraphs");
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
