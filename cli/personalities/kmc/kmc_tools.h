#pragma once
/// The operations of `kmc_tools`, in parts: what all have in common.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/indexes/set_session.h"
#include "cli/personalities/kmc/kmc_databases.h"
#include "cli/personalities/option_table.h"
#include "host/limits.h"

namespace warpmer::cli {

/// The words of a command line, of which one after the other is taken.
class CommandWords {
 public:
  CommandWords(std::string program, std::span<const std::string> words)
      : program_(std::move(program)), words_(words) {}

  [[nodiscard]] const std::string& program() const noexcept { return program_; }
  [[nodiscard]] bool empty() const noexcept { return words_.empty(); }
  [[nodiscard]] std::span<const std::string> rest() const noexcept { return words_; }
  void skip(std::size_t words) { words_ = words_.subspan(words); }
  /// Takes the next word, which is no option. UsageError that `what` is missing.
  std::string take(const std::string& what);
  /// UsageError that `name` is no operation, with those of `names` that may be meant.
  [[noreturn]] void refuse_operation(const std::string& name, const std::vector<std::string>& names) const;
  /// UsageError where there are more.
  void check_end() const;

 private:
  std::string program_;
  std::span<const std::string> words_;
};

/// An input of a database, with the counts that are looked at.
struct KmcInput {
  NamedDatabase database;
  backend::CountBounds bounds;
  /// Returns the largest count that counters of the database hold.
  [[nodiscard]] std::uint64_t largest_counter() const;
};

/// Stores a count; 0 becomes 1.
TakeOption store_count(std::uint64_t& to);

/// Takes a database, with its -ci and -cx.
KmcInput take_kmc_input(CommandWords& words);

/// UsageError for inputs of different k or strand, with their names.
void check_alike(const KmcInput& first, const KmcInput& second);
/// UsageError when the output would replace an input.
void check_database_output(const DatabaseOutput& output, const KmcInput& input);

/// Takes -ci, -cx, -cs, -okmc and -okff of an output, which has what is not given already.
void take_kmc_output_options(CommandWords& words, DatabaseOutput& output);

/// Returns the rule of min, max, sum, diff, left or right.
backend::CountRule kmc_count_rule(const std::string& name);

/// `transform`, `simple`, `complex`: databases in, databases and texts out.
void run_kmc_transform(CommandWords& words, const host::Resources& resources);
void run_kmc_simple(CommandWords& words, const host::Resources& resources);
void run_kmc_complex(CommandWords& words, const host::Resources& resources);
/// `filter`: reads by their k-mers.
void run_kmc_filter(CommandWords& words, const host::Resources& resources);

}  // namespace warpmer::cli
