#include "starfish/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "distributed/row_report.h"
#include "starfish/experiments.h"
#include "tables/keys.h"
#include "tables/workbench.h"

namespace warpmer::bench {
namespace {

struct Options {
  std::vector<int> figures = {4, 5, 6};
  std::vector<std::size_t> children = {1, 2, 4, 8, 16, 32};
  std::size_t asked_children = 8;
  std::vector<std::size_t> queries;
  std::vector<std::uint32_t> resident = {1, 2, 4, 8};
  StarfishSetting setting;
  std::string device = "auto", csv, json;
};

std::unique_ptr<StarfishBench> make_bench(const Options& options) {
  if (options.device == "cpu" || (options.device == "auto" && gpus_there_are() == 0))
    return make_host_starfish(options.setting);
  int number = 0;
  if (options.device != "auto" && options.device != "cuda") {
    const std::string prefix = "cuda:";
    const char* const end = options.device.data() + options.device.size();
    const char* const digits = options.device.data() + std::min(prefix.size(), options.device.size());
    const auto parsed = std::from_chars(digits, end, number);
    if (!options.device.starts_with(prefix) || parsed.ec != std::errc() || parsed.ptr != end || number < 0)
      throw UsageError(fmt::format("--device {}: there are auto, cpu, cuda and cuda:N", options.device));
  }
  return make_gpu_starfish(options.setting, number);
}

void check(const Options& options) {
  for (const int figure : options.figures) {
    if (figure < 4 || figure > 7) throw UsageError(fmt::format("--figure {}: there are 4 to 7", figure));
  }
  const StarfishSetting& setting = options.setting;
  if (setting.child_pairs == 0 || setting.rounds == 0 || options.asked_children < 2)
    throw UsageError("--child and --rounds must be at least 1, --asked at least 2");
  if (!(setting.load > 0 && setting.load <= 0.9))
    throw UsageError(fmt::format("--load {}: it must be above 0 and not above 0.9", setting.load));
  std::size_t most = options.asked_children;
  for (const std::size_t children : options.children) most = std::max(most, children);
  if (most > kKeyNumbers / setting.child_pairs)
    throw UsageError("32-bit keys last for 2^32 - 2 pairs; choose fewer or smaller children");
  for (const std::uint32_t resident : options.resident) {
    if (resident == 0) throw UsageError("--resident 0: a child must be on the device to be worked on");
  }
  for (const std::size_t size : options.children) {
    if (size == 0) throw UsageError("--children 0: there is nothing to build");
  }
}

class Driver {
 public:
  explicit Driver(const Options& options)
      : options_(options), bench_(make_bench(options)), report_(options.csv, options.json) {}

  int run() {
    for (const int figure : options_.figures) {
      if (figure == 6) {
        run_queries();
      } else {
        run_builds(figure);
      }
    }
    report_.finish();
    return is_right_ ? 0 : 5;
  }

 private:
  [[nodiscard]] std::vector<Contender> contenders(std::size_t children) const {
    std::vector<Contender> all;
    for (const std::uint32_t resident : options_.resident) {
      // With more frames than children nothing is paged.
      if (resident <= children || all.empty()) all.push_back({"starfish", resident});
    }
    all.push_back({"iceberg", 0});
    all.push_back({"slab", 0});
    return all;
  }

  /// Figs. 4, 5 and 7, of which 7 asks for the memory that 4 takes.
  void run_builds(int figure) {
    for (const std::size_t children : options_.children) {
      const std::size_t pairs = children * options_.setting.child_pairs;
      for (const Contender& contender : contenders(children)) {
        const StarfishResult result = bench_->build(contender, pairs, figure == 5);
        const auto key = std::pair(contender.table + std::to_string(contender.resident), pairs);
        if (figure != 5) without_failure_[key] = result.seconds;
        RowReport::Row extra;
        const auto usual = without_failure_.find(key);
        if (figure == 5 && usual != without_failure_.end()) extra = (result.seconds - usual->second) * 1000;
        keep(figure, contender, "build", pairs, pairs, 0, result, std::move(extra));
      }
    }
  }

  void run_queries() {
    const std::size_t child = options_.setting.child_pairs, pairs = options_.asked_children * child;
    std::vector<std::size_t> sizes = options_.queries;
    if (sizes.empty()) sizes = {child, 2 * child, 4 * child, 8 * child};
    for (const Contender& contender : contenders(options_.asked_children)) {
      for (const std::size_t span : {child, 2 * child, pairs}) {
        for (const std::size_t queries : sizes) {
          keep(6, contender, "find", pairs, queries, span, bench_->query(contender, pairs, span, queries),
               {});
        }
      }
    }
  }

  void keep(int figure, const Contender& contender, const char* operation, std::size_t pairs,
            std::size_t operations, std::size_t span, const StarfishResult& result, RowReport::Row extra) {
    constexpr double kMillion = 1e6;
    RowReport::Row row;
    row["device"] = bench_->device();
    row["figure"] = figure;
    row["table"] = contender.table;
    row["resident"] = contender.resident > 0 ? RowReport::Row(contender.resident) : RowReport::Row();
    row["children"] = contender.resident > 0 ? RowReport::Row(result.children) : RowReport::Row();
    row["pairs"] = pairs;
    row["operation"] = operation;
    row["operations"] = operations;
    row["span"] = span > 0 ? RowReport::Row(span) : RowReport::Row();
    row["ms"] = result.seconds * 1000;
    row["mops"] = static_cast<double>(operations) / result.seconds / kMillion;
    row["rebuild_ms"] = std::move(extra);
    row["fetches"] = result.moved.fetches;
    row["written"] = result.moved.write_backs;
    const std::uint64_t bytes =
        result.moved.fetched_bytes + result.moved.written_bytes + result.rebuild_bytes;
    row["swap_gb_s"] = static_cast<double>(bytes) / result.seconds * 1e-9;
    row["table_mb"] = static_cast<double>(result.table_bytes) / kMillion;
    row["device_mb"] = static_cast<double>(result.device_bytes) / kMillion;
    row["wrong"] = result.wrong;
    row["verified"] = result.wrong == 0 ? "ok" : "WRONG";
    is_right_ = is_right_ && result.wrong == 0;
    report_.add(std::move(row), {"device", "wrong"});
  }

  const Options& options_;
  std::unique_ptr<StarfishBench> bench_;
  RowReport report_;
  std::map<std::pair<std::string, std::size_t>, double> without_failure_;
  bool is_right_ = true;
};

}  // namespace

void add_starfish_command(CLI::App& app, int& status) {
  const auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand(
      "starfish",
      "A table of child tables of which some are on the device, beside tables that are as a whole");
  command.footer(
      "The experiments of Xiong et al. 2022, section 5. Pairs and queries come from the host, and answers go "
      "back;\n"
      "all of it is timed. Fig. 4: building, by size and children on the device. Fig. 5: when all is built,\n"
      "something has found no room: a child is built again, or the whole table. Fig. 6: queries for keys of "
      "the\n"
      "first child, of the first two and of all. Fig. 7 is Fig. 4, for the memory taken on the device.\n"
      "iceberg is a plain table of the kind that children are; slab is the slab hash. rebuild_ms is what a "
      "failure\n"
      "adds to Fig. 4, when that is measured before. Every answer is checked. The exit status is 0 when all "
      "were\n"
      "right, 5 when one was wrong, 2 for a wrong command line, 4 when memory or a device is missing.");
  const auto list = [&](const char* name, auto& values, const char* what) {
    CLI::Option& option = *command.add_option(name, values, what)->delimiter(',');
    if (!values.empty()) option.capture_default_str();
  };
  list("--figure", options->figures, "4, 5, 6, 7");
  list("--children", options->children, "sizes of Figs. 4, 5 and 7, in children");
  list("--resident", options->resident, "children on the device at once");
  list("--queries", options->queries, "of Fig. 6; 1, 2, 4 and 8 for each pair of a child when not given");
  command.add_option("--asked", options->asked_children, "children of Fig. 6")->capture_default_str();
  command.add_option("--child", options->setting.child_pairs, "pairs of a child")->capture_default_str();
  command.add_option("--load", options->setting.load, "of children and of the plain table")
      ->capture_default_str();
  command.add_option("--rounds", options->setting.rounds, "measurements, of which the median is shown")
      ->capture_default_str();
  command.add_option("--device", options->device, "auto, cpu, cuda or cuda:N")->capture_default_str();
  command.add_option("--csv", options->csv, "also write all rows here, - is standard output");
  command.add_option("--json", options->json, "the same as JSON");
  command.callback([options, &status] {
    check(*options);
    status = Driver(*options).run();
  });
}

}  // namespace warpmer::bench
