#pragma once
/// The options of another program's command line, as a table, and the one reader of such tables.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace warpmer::cli {

/// The place of an option's value.
enum class ValuePlace : std::uint8_t {
  none,
  glued,     ///< in the same word: `-k31`
  optional,  ///< in the same word, or there is none: `-t` or `-t4`
  free,      ///< in the same word, or the next one is it: `-m31`, `-m 31`, `--mer-len=31`, `--mer-len 31`
};

/// An option as it was given.
struct GivenOption {
  std::string_view name;  ///< as it was spelled
  std::string_view value;
};

/// Takes an option's value. UsageError when it is none.
using TakeOption = std::function<void(const GivenOption&)>;

/// One row of a table; `taken`, `ignored` and `refused` make them.
struct OptionRow {
  std::string_view names;  ///< with commas: "-m,--mer-len"
  ValuePlace place = ValuePlace::none;
  std::string_view help;
  TakeOption take;           ///< none: the option means nothing here, and is accepted in silence
  std::string_view refusal;  ///< not empty: it would change the result, and this is why it is refused
  bool is_last = false;      ///< what stands behind it is not read
};

OptionRow taken(std::string_view names, ValuePlace place, std::string_view help, TakeOption take);
OptionRow ignored(std::string_view names, ValuePlace place, std::string_view help);
OptionRow refused(std::string_view names, ValuePlace place, std::string_view why);
/// An option such as --help, behind which nothing is read. Help texts leave it out.
OptionRow last(std::string_view names, TakeOption take);

/// Returns the rows one behind the other.
std::vector<OptionRow> joined(std::initializer_list<std::vector<OptionRow>> tables);

// --- What options do with their values. `to` outlives the reading.

TakeOption set_flag(bool& to, bool value = true);
/// Stores a whole number of the range.
TakeOption store_number(std::uint64_t& to, std::uint64_t least = 0, std::uint64_t most = UINT64_MAX);
TakeOption store_number(std::uint32_t& to, std::uint32_t least = 0, std::uint32_t most = UINT32_MAX);
/// Does so with the digits that a value begins with, as C's atoi does: 7 of 7.5 or 7G. For what does not
/// change the result.
TakeOption store_leading_number(std::uint64_t& to, std::uint64_t least = 0, std::uint64_t most = UINT64_MAX);
/// Stores a text that is not empty.
TakeOption store_text(std::string& to);

/// A program's options, or those of one of its commands.
struct OptionTable {
  std::string program;  ///< as messages call it: "kmc", "jellyfish count"
  std::vector<OptionRow> rows;
  /// True when `-Cv` may stand for `-C -v`, and `--canon` for the one name that begins so, as getopt has it.
  bool is_getopt = false;
};

/// True for a word that begins with '-' and goes on.
bool is_option_word(std::string_view word);

/// Takes the options that stand at the front of `words`, up to the first other word. Returns how many words
/// they are. UsageError for an unknown option, one that is refused, and a value that is none or missing.
std::size_t take_options(const OptionTable& table, std::span<const std::string> words);

/// Takes the options wherever they stand, up to a word `--`. Returns the other words. Throws as
/// `take_options`.
std::vector<std::string> take_all_options(const OptionTable& table, std::span<const std::string> words);

/// Warns of words behind all that a program takes, which it does not look at, as the original does not.
void say_ignored(std::string_view program, std::span<const std::string> words);

/// Returns a line for each option, for help texts; those that mean nothing here say so.
std::string options_text(const OptionTable& table);
/// Returns a help text of one usage.
std::string help_text(const OptionTable& table, std::string_view arguments);

}  // namespace warpmer::cli
