/// `kmc_tools complex`: a formula of databases, in a file.
///
///     INPUT:
///     name = DATABASE [-ci -cx]
///     OUTPUT:
///     DATABASE = formula
///     OUTPUT_PARAMS:
///     [-ci -cx -cs -okmc|-okff]
///
/// A formula has names, brackets, and from left to right `*` (in both, stronger than the others), `+` (in
/// any), `-` (not in the second) and `~` (counts of the second taken away). Behind an operator but `-` may
/// stand min, max, sum, diff, left or right: the count of a k-mer that is in both.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cli/personalities/kmc/kmc_tools.h"
#include "io/text/line_reader.h"
#include "jobs/merged_kmers.h"

namespace warpmer::cli {
namespace {

using backend::CountRule;

/// All that the file defines.
struct Definitions {
  std::map<std::string, KmcInput> inputs;
  DatabaseOutput output;
  std::string formula;
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

/// Without options of 0, which say nothing here; those on a command line mean 1.
std::vector<std::string> words_of(std::string_view text) {
  constexpr std::string_view kUnset[] = {"-ci0", "-cx0", "-cs0"};
  std::istringstream stream{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) {
    if (std::ranges::find(kUnset, word) == std::end(kUnset)) words.push_back(word);
  }
  return words;
}

/// The lines of a file of definitions that are not empty.
class DefinitionReader {
 public:
  explicit DefinitionReader(const std::string& path)
      : path_(path), lines_(path, 1, {std::size_t{1} << 20, "this line is too long for a definition"}) {}

  bool next(std::string_view& line) {
    while (lines_.next_line(line)) {
      line = trimmed(line);
      if (!line.empty()) return true;
    }
    return false;
  }
  [[noreturn]] void refuse(const std::string& what) const {
    throw UsageError(fmt::format("kmc_tools complex: {}, line {}: {}", path_, lines_.line(), what));
  }
  /// Returns both sides of `name = rest`.
  [[nodiscard]] std::pair<std::string_view, std::string_view> sides(std::string_view line) const {
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) refuse("this is not of the form NAME = ...");
    const auto name = trimmed(line.substr(0, equals)), rest = trimmed(line.substr(equals + 1));
    if (name.empty() || rest.empty()) refuse("this is not of the form NAME = ...");
    return {name, rest};
  }

 private:
  std::string path_;
  io::LineReader lines_;
};

bool is_modifier(std::string_view word) {
  constexpr std::string_view kModifiers[] = {"min", "max", "sum", "diff", "left", "right"};
  return std::ranges::find(kModifiers, word) != std::end(kModifiers);
}

void read_inputs(DefinitionReader& reader, Definitions& definitions) {
  std::string_view line;
  do {
    if (!reader.next(line)) reader.refuse("there is no line 'INPUT:'");
  } while (line.find("INPUT:") == std::string_view::npos);
  for (;;) {
    if (!reader.next(line)) reader.refuse("there is no line 'OUTPUT:'");
    if (line.find("OUTPUT:") != std::string_view::npos) break;
    const auto [name, rest] = reader.sides(line);
    const std::string key(name);
    if (is_modifier(name)) reader.refuse(fmt::format("'{}' has a meaning in formulas, and is no name", name));
    if (definitions.inputs.contains(key)) reader.refuse(fmt::format("'{}' is defined twice", name));
    const std::vector<std::string> given = words_of(rest);
    CommandWords words("kmc_tools complex", given);
    definitions.inputs.emplace(key, take_kmc_input(words));
    words.check_end();
  }
  if (definitions.inputs.empty()) reader.refuse("no input is defined");
}

/// The output's options, or what follows from the inputs.
void read_output(DefinitionReader& reader, Definitions& definitions) {
  std::string_view line;
  if (!reader.next(line)) reader.refuse("no output is defined");
  const auto [name, formula] = reader.sides(line);
  DatabaseOutput& output = definitions.output;
  output.name = name;
  definitions.formula = formula;
  output.bounds = {UINT64_MAX, 0};
  output.largest_counter = 0;
  for (const auto& [ignored_name, input] : definitions.inputs) {
    output.bounds.min = std::min(output.bounds.min, input.bounds.min);
    output.bounds.max = std::max(output.bounds.max, input.bounds.max);
    output.largest_counter = std::max(output.largest_counter, input.largest_counter());
  }
  while (reader.next(line) && line.find("OUTPUT_PARAMS:") == std::string_view::npos) {
  }
  if (!reader.next(line)) return;
  const std::vector<std::string> given = words_of(line);
  CommandWords words("kmc_tools complex", given);
  take_kmc_output_options(words, output);
  words.check_end();
}

/// Reads a formula, and opens what it names.
class FormulaReader {
 public:
  FormulaReader(const Definitions& definitions, const host::Resources& resources)
      : definitions_(definitions), resources_(resources), rest_(definitions.formula) {}

  jobs::RangedKmers read() {
    jobs::RangedKmers source = read_sum();
    if (!peek().empty()) refuse(fmt::format("'{}' is too much", peek()));
    return source;
  }

 private:
  using Source = jobs::RangedKmers;

  [[noreturn]] void refuse(const std::string& what) const {
    throw UsageError(fmt::format("kmc_tools complex: the formula '{}': {}", definitions_.formula, what));
  }
  /// Returns the next symbol; empty at the end.
  std::string_view peek() {
    rest_ = trimmed(rest_);
    if (rest_.empty()) return {};
    const auto end = std::ranges::find_if_not(rest_, is_word);
    return rest_.substr(0, std::max<std::size_t>(1, static_cast<std::size_t>(end - rest_.begin())));
  }
  void skip() { rest_.remove_prefix(peek().size()); }

  Source read_operand() {
    const std::string_view symbol = peek();
    if (symbol == "(") {
      skip();
      Source source = read_sum();
      if (peek() != ")") refuse("a bracket is not closed");
      skip();
      return source;
    }
    const auto found = definitions_.inputs.find(std::string(symbol));
    if (found == definitions_.inputs.end()) {
      refuse(symbol.empty() ? "a name is missing at its end"
                            : fmt::format("no input is called '{}'", symbol));
    }
    skip();
    return found->second.database.sorted(found->second.bounds, resources_, definitions_.output.name);
  }

  Source join(Source left, jobs::MergerRule rule, bool is_product) {
    const bool may_choose = rule.in_both;
    skip();
    if (may_choose && is_modifier(peek()) && !definitions_.inputs.contains(std::string(peek()))) {
      rule.counts = kmc_count_rule(std::string(peek()));
      skip();
    }
    Source right = is_product ? read_operand() : read_product();
    return jobs::merged(std::move(left), std::move(right), rule);
  }

  Source read_product() {
    Source source = read_operand();
    while (peek() == "*") source = join(std::move(source), {false, false, true, CountRule::min}, true);
    return source;
  }

  Source read_sum() {
    Source source = read_product();
    for (;;) {
      if (peek() == "+") {
        source = join(std::move(source), {true, true, true, CountRule::sum}, false);
      } else if (peek() == "-") {
        source = join(std::move(source), {true, false, false, CountRule::difference}, false);
      } else if (peek() == "~") {
        source = join(std::move(source), {true, false, true, CountRule::difference}, false);
      } else {
        return source;
      }
    }
  }

  const Definitions& definitions_;
  const host::Resources& resources_;
  std::string_view rest_;
};

}  // namespace

void run_kmc_complex(CommandWords& words, const host::Resources& resources) {
  DefinitionReader reader(words.take("a file of definitions"));
  words.check_end();
  Definitions definitions;
  read_inputs(reader, definitions);
  read_output(reader, definitions);
  const KmcInput& first = definitions.inputs.begin()->second;
  for (const auto& [name, input] : definitions.inputs) {
    check_alike(first, input);
    check_database_output(definitions.output, input);
  }
  write_database(FormulaReader(definitions, resources).read(), definitions.output, resources);
}

}  // namespace warpmer::cli
