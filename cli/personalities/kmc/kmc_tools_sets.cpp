/// `kmc_tools transform` and `simple`: databases in, databases and texts out.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/number_text.h"
#include "cli/framework/text_output.h"
#include "cli/personalities/kmc/kmc_tools.h"
#include "cli/personalities/option_table.h"
#include "jobs/merged_kmers.h"

namespace warpmer::cli {
namespace {

using backend::CountRule;
using formats::Format;

/// The rows are empty of help: `kmc_tools --help` shows them as a whole.
std::vector<OptionRow> count_rows(DatabaseOutput& output) {
  using enum ValuePlace;
  return {taken("-ci", glued, "", store_count(output.bounds.min)),
          taken("-cx", glued, "", store_count(output.bounds.max)),
          taken("-cs", glued, "", store_count(output.largest_counter))};
}

std::vector<OptionRow> format_rows(DatabaseOutput& output) {
  const auto choose = [&output](const GivenOption& given) {
    output.format = given.name == "-okff" ? Format::kff : Format::kmc;
  };
  return {taken("-okmc,-okff", ValuePlace::none, "", choose)};
}

void take_output_options(CommandWords& words, std::vector<OptionRow> rows) {
  words.skip(take_options({words.program(), std::move(rows)}, words.rest()));
}

// --- transform

enum class TransformKind { sort, reduce, compact, histogram, dump, set_counts };

struct Transform {
  TransformKind kind = TransformKind::sort;
  DatabaseOutput output;
  std::uint64_t value = 0;  ///< of set_counts
  bool is_sorted = false;   ///< `dump -s`
};

/// The counts of a histogram go up to this unless told otherwise.
constexpr std::uint64_t kLastCount = 10000;

TransformKind transform_named(const CommandWords& words, const std::string& name) {
  static const std::map<std::string, TransformKind> kinds = {
      {"sort", TransformKind::sort},       {"reduce", TransformKind::reduce},
      {"compact", TransformKind::compact}, {"histogram", TransformKind::histogram},
      {"dump", TransformKind::dump},       {"set_counts", TransformKind::set_counts}};
  const auto found = kinds.find(name);
  if (found == kinds.end()) {
    std::vector<std::string> names;
    names.reserve(kinds.size());
    for (const auto& kind : kinds) names.push_back(kind.first);
    words.refuse_operation(name, names);
  }
  return found->second;
}

std::uint64_t take_value(CommandWords& words) {
  const std::string text = words.take("the count of set_counts");
  const std::optional<std::uint64_t> value = whole_number(text);
  if (!value || *value > formats::kLargestKmcCount) {
    throw UsageError(fmt::format("{}: set_counts needs a whole number up to {}, not '{}'", words.program(),
                                 formats::kLargestKmcCount, text));
  }
  return *value;
}

/// Returns what an output has whose options say nothing.
DatabaseOutput unasked_output(TransformKind kind, const KmcInput& input) {
  DatabaseOutput output;
  output.bounds = input.bounds;
  output.largest_counter = input.largest_counter();
  if (kind == TransformKind::histogram)
    output.bounds.max = std::min({input.database.header().max_count, kLastCount, input.largest_counter()});
  return output;
}

Transform take_transform(CommandWords& words, const KmcInput& input) {
  using enum TransformKind;
  Transform transform;
  const TransformKind kind = transform.kind = transform_named(words, words.take("an operation"));
  DatabaseOutput& output = transform.output = unasked_output(kind, input);
  if (kind == set_counts) transform.value = take_value(words);
  if (kind == dump)
    take_output_options(words, {taken("-s", ValuePlace::none, "", set_flag(transform.is_sorted))});
  output.name = words.take("the name of the output");
  if (kind == dump || kind == histogram) {
    take_output_options(words, count_rows(output));
    output.format = Format::tsv;
  } else {
    take_kmc_output_options(words, output);
  }
  if (kind == compact) {
    output.largest_counter = 1;
    output.tells_of_capped = false;
  }
  if (kind == set_counts) {
    output.bounds = {1, formats::kLargestKmcCount};
    output.largest_counter = transform.value > 0 ? transform.value : formats::kLargestKmcCount;
  }
  check_database_output(output, input);
  return transform;
}

/// A row for every count of the range, also those that no k-mer has.
void write_dense_histogram(const index::Histogram& histogram, const std::string& path,
                           const backend::CountBounds& bounds) {
  TextOutput output(path);
  auto next = histogram.lower_bound(bounds.min);
  for (std::uint64_t count = bounds.min; count <= bounds.max; ++count) {
    const bool is_next = next != histogram.end() && next->first == count;
    output.print("{}\t{}\n", count, is_next ? next->second : 0);
    if (is_next) ++next;
  }
  output.finish();
}

void run_one(const Transform& transform, const KmcInput& input, const host::Resources& resources) {
  const DatabaseOutput& output = transform.output;
  if (transform.kind == TransformKind::histogram) {
    return write_dense_histogram(input.database.histogram(input.bounds, resources.threads), output.name,
                                 output.bounds);
  }
  if (transform.kind == TransformKind::dump && !transform.is_sorted)
    return write_text(*input.database.open(input.bounds), output, resources);
  jobs::RangedKmers kmers = input.database.sorted(input.bounds, resources, output.name);
  if (transform.value > 0) kmers = jobs::recounted(std::move(kmers), transform.value);
  write_database(kmers, output, resources);
}

// --- simple

struct NamedSetOperation {
  const char* name;
  jobs::MergerRule rule;
  bool is_reverse;
};

constexpr NamedSetOperation kSetOperations[] = {
    {"intersect", {false, false, true, CountRule::min}, false},
    {"union", {true, true, true, CountRule::sum}, false},
    {"kmers_subtract", {true, false, false, CountRule::difference}, false},
    {"counters_subtract", {true, false, true, CountRule::difference}, false},
    {"reverse_kmers_subtract", {true, false, false, CountRule::difference}, true},
    {"reverse_counters_subtract", {true, false, true, CountRule::difference}, true},
};

struct SimpleOutput {
  NamedSetOperation operation;
  DatabaseOutput database;
};

std::vector<OptionRow> rule_rows(NamedSetOperation& operation) {
  constexpr std::string_view kNames = "-ocmin,-ocmax,-ocsum,-ocdiff,-ocleft,-ocright";
  if (!operation.rule.in_both)
    return {refused(kNames, ValuePlace::none, "no k-mer of the result is in both inputs")};
  const auto choose = [&operation](const GivenOption& given) {
    operation.rule.counts = kmc_count_rule(std::string(given.name.substr(3)));
  };
  return {taken(kNames, ValuePlace::none, "", choose)};
}

SimpleOutput take_simple_output(CommandWords& words, const KmcInput& first, const KmcInput& second) {
  const std::string name = words.take("an operation");
  const auto* const operation =
      std::ranges::find_if(kSetOperations, [&](const NamedSetOperation& each) { return each.name == name; });
  if (operation == std::end(kSetOperations)) {
    std::vector<std::string> names;
    for (const NamedSetOperation& each : kSetOperations) names.emplace_back(each.name);
    words.refuse_operation(name, names);
  }
  SimpleOutput output{*operation, {}};
  output.database.name = words.take("the name of the output");
  output.database.bounds = {std::min(first.bounds.min, second.bounds.min),
                            std::max(first.bounds.max, second.bounds.max)};
  output.database.largest_counter = std::max(first.largest_counter(), second.largest_counter());
  take_output_options(words, joined({count_rows(output.database), format_rows(output.database),
                                     rule_rows(output.operation)}));
  for (const KmcInput* input : {&first, &second}) check_database_output(output.database, *input);
  return output;
}

}  // namespace

void run_kmc_transform(CommandWords& words, const host::Resources& resources) {
  const KmcInput input = take_kmc_input(words);
  std::vector<Transform> transforms;
  do {
    transforms.push_back(take_transform(words, input));
  } while (!words.empty());
  for (const Transform& transform : transforms) run_one(transform, input, resources);
}

void take_kmc_output_options(CommandWords& words, DatabaseOutput& output) {
  take_output_options(words, joined({count_rows(output), format_rows(output)}));
}

CountRule kmc_count_rule(const std::string& name) {
  static const std::map<std::string, CountRule> rules = {
      {"min", CountRule::min},         {"max", CountRule::max},    {"sum", CountRule::sum},
      {"diff", CountRule::difference}, {"left", CountRule::first}, {"right", CountRule::last}};
  return rules.at(name);
}

void run_kmc_simple(CommandWords& words, const host::Resources& resources) {
  const KmcInput first = take_kmc_input(words);
  const KmcInput second = take_kmc_input(words);
  check_alike(first, second);
  std::vector<SimpleOutput> outputs;
  do {
    outputs.push_back(take_simple_output(words, first, second));
  } while (!words.empty());
  for (const SimpleOutput& output : outputs) {
    const std::string& name = output.database.name;
    jobs::RangedKmers a = first.database.sorted(first.bounds, resources, name);
    jobs::RangedKmers b = second.database.sorted(second.bounds, resources, name);
    if (output.operation.is_reverse) std::swap(a, b);
    write_database(jobs::merged(std::move(a), std::move(b), output.operation.rule), output.database,
                   resources);
  }
}

}  // namespace warpmer::cli
