#include "cli/arguments/index_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/number_text.h"
#include "cli/arguments/flags.h"
#include "io/text/input_list.h"
#include "jobs/output_check.h"

namespace warpmer::cli {
namespace {

/// `2` or `2,5,1`
std::vector<std::uint64_t> parse_numbers(const char* flag, const std::string& text) {
  std::vector<std::uint64_t> numbers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::optional<std::uint64_t> number =
        whole_number(std::string_view(text).substr(begin, end - begin));
    if (!number || *number < 1) {
      throw UsageError(
          fmt::format("{} must be a whole number, at least 1, or several with commas between them, not '{}'",
                      flag, text));
    }
    numbers.push_back(*number);
    begin = end + 1;
  }
  return numbers;
}

void add_numbers(CLI::App& app, const char* flag, std::vector<std::uint64_t>& numbers,
                 const std::string& help) {
  app.add_option_function<std::string>(
         flag, [flag, &numbers](const std::string& text) { numbers = parse_numbers(flag, text); }, help)
      ->type_name("N[,N...]");
}

void check_number(const char* flag, const std::vector<std::uint64_t>& numbers, std::size_t inputs) {
  if (numbers.size() > 1 && numbers.size() != inputs) {
    throw UsageError(fmt::format("{} has {} numbers for {} input{}; give one for all, or one for each", flag,
                                 numbers.size(), inputs, inputs == 1 ? "" : "s"));
  }
}

std::uint64_t number_of(const std::vector<std::uint64_t>& numbers, std::size_t input,
                        std::uint64_t otherwise) {
  if (numbers.empty()) return otherwise;
  return numbers.size() == 1 ? numbers.front() : numbers[input];
}

}  // namespace

void add_index_inputs(CLI::App& app, IndexInputs& inputs) {
  app.add_option(
         "INDEX", inputs.arguments,
         "Indexes written by warpmer, all of the same k and strand; @LIST for a file that names one on each "
         "line, - for standard input.")
      ->required()
      ->type_name("FILE");
  add_numbers(
      app, "--input-min-count", inputs.min_counts,
      "Of the inputs, look only at k-mers that occur at least N times in them. One number for all inputs, or "
      "one for each in their order, with commas between them.");
  add_numbers(app, "--input-max-count", inputs.max_counts, "Likewise, at most N times.");
}

void complete(const IndexInputs& inputs, const std::vector<std::string>& outputs, std::uint64_t memory_bytes,
              std::vector<std::string>& paths, std::vector<backend::CountBounds>& bounds) {
  paths = inputs.arguments;
  expand_index_lists(paths, outputs, memory_bytes);
  io::list_inputs(paths);  // throws for one that does not exist
  const std::size_t number = paths.size();
  check_number("--input-min-count", inputs.min_counts, number);
  check_number("--input-max-count", inputs.max_counts, number);
  for (std::size_t i = 0; i < number; ++i) {
    const auto& [min, max] = bounds.emplace_back(backend::CountBounds{
        number_of(inputs.min_counts, i, 1), number_of(inputs.max_counts, i, UINT64_MAX)});
    if (min > max) {
      throw UsageError(fmt::format(
          "--input-min-count {} is larger than --input-max-count {}: nothing of {} would be looked at", min,
          max, paths[i]));
    }
  }
}

void expand_index_lists(std::vector<std::string>& indexes, const std::vector<std::string>& outputs,
                        std::uint64_t memory_bytes) {
  check_standard_input({{"as an index", indexes}});
  for (const std::string& output : outputs) check_output(output, indexes);
  indexes = io::expand_lists(indexes, most_bytes_of_names(memory_bytes));
  check_standard_input({{"as an index", indexes}});
  for (const std::string& output : outputs) jobs::check_is_no_input(output, indexes);
}

}  // namespace warpmer::cli
