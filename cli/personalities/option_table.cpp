#include "cli/personalities/option_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/number_text.h"
#include "base/warning.h"
#include "cli/framework/suggestion.h"

namespace warpmer::cli {
namespace {

/// Calls `visit` with each name of a row.
template <class Visit>
void for_each_name(const OptionRow& row, Visit&& visit) {
  for (std::string_view rest = row.names; !rest.empty();) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    visit(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

bool is_long(std::string_view name) { return name.starts_with("--"); }

/// A row with the name of it that a word begins with, and what the word has behind that.
struct FoundOption {
  const OptionRow* row = nullptr;
  std::string_view name;
  std::optional<std::string_view> glued;
};

/// Returns an option of which a word has `rest` behind the name; nothing where that does not fit.
std::optional<FoundOption> with_rest(const OptionRow& row, std::string_view name, std::string_view rest) {
  if (rest.empty()) return FoundOption{&row, name, std::nullopt};
  if (row.place == ValuePlace::none) return std::nullopt;
  if (is_long(name)) {
    if (rest.front() != '=') return std::nullopt;
    rest.remove_prefix(1);
  }
  return FoundOption{&row, name, rest};
}

/// Returns the row whose name is the longest that fits.
std::optional<FoundOption> find(const OptionTable& table, std::string_view word) {
  std::optional<FoundOption> best;
  for (const OptionRow& row : table.rows) {
    for_each_name(row, [&](std::string_view name) {
      if (!word.starts_with(name)) return;
      const std::optional<FoundOption> found = with_rest(row, name, word.substr(name.size()));
      if (found && (!best || name.size() > best->name.size())) best = found;
    });
  }
  return best;
}

[[noreturn]] void refuse(const OptionTable& table, const std::string& what) {
  const std::string program = table.program.substr(0, table.program.find(' '));
  throw UsageError(fmt::format("{}: {} (see '{} --help')", table.program, what, program));
}

[[noreturn]] void refuse_unknown(const OptionTable& table, const std::string& word) {
  std::vector<std::string> names;
  for (const OptionRow& row : table.rows) {
    if (row.refusal.empty()) for_each_name(row, [&](std::string_view name) { names.emplace_back(name); });
  }
  refuse(table, fmt::format("there is no option '{}'{}", word, did_you_mean(near_options(word, names))));
}

/// Returns the row whose name is the longest that fits, or else the one of which a word has the first
/// letters.
std::optional<FoundOption> find_or_begun(const OptionTable& table, std::string_view word) {
  std::optional<FoundOption> found = find(table, word);
  if (found || !table.is_getopt || !is_long(word)) return found;
  const std::string_view begun = word.substr(0, word.find('='));
  const OptionRow* begun_row = nullptr;
  std::string_view begun_name;
  for (const bool wants_whole : {true, false}) {  // a whole name is none of those that begin with it
    for (const OptionRow& row : table.rows) {
      for_each_name(row, [&](std::string_view name) {
        if (wants_whole ? name != begun : !name.starts_with(begun)) return;
        if (begun_row != nullptr && begun_row != &row)
          refuse(table, fmt::format("'{}' may be {} or {}", begun, begun_name, name));
        begun_row = &row;
        begun_name = name;
      });
    }
    if (begun_row != nullptr) break;
  }
  if (begun_row == nullptr) return found;
  found = with_rest(*begun_row, begun_name, word.substr(begun.size()));
  if (!found) refuse(table, fmt::format("{} takes no value", begun_name));
  return found;
}

void take(const OptionTable& table, const OptionRow& row, const GivenOption& given) {
  if (!row.refusal.empty()) refuse(table, fmt::format("{} is not done here: {}", given.name, row.refusal));
  if (!row.take) return;
  try {
    row.take(given);
  } catch (const UsageError& error) {
    refuse(table, error.what());
  }
}

/// Returns the row of the first letter of `-Cv`, if it has no value.
const OptionRow* first_letter(const OptionTable& table, std::string_view word) {
  if (!table.is_getopt || word.size() < 3 || is_long(word)) return nullptr;
  const std::optional<FoundOption> found = find(table, word.substr(0, 2));
  return found && (found->row->place == ValuePlace::none || found->row->place == ValuePlace::optional)
             ? found->row
             : nullptr;
}

/// Takes the option at the front. Returns how many words it is.
std::size_t take_one(const OptionTable& table, std::span<const std::string> words) {
  std::string word = words.front();
  std::optional<FoundOption> found = find_or_begun(table, word);
  while (!found) {
    const OptionRow* row = first_letter(table, word);
    if (row == nullptr) refuse_unknown(table, words.front());
    take(table, *row, {std::string_view(word).substr(0, 2), ""});
    if (row->is_last) return words.size();
    word.erase(1, 1);
    found = find(table, word);
  }
  const auto& [row, name, glued] = *found;
  if (glued || row->place == ValuePlace::none || row->place == ValuePlace::optional) {
    take(table, *row, {name, glued.value_or("")});
    return row->is_last ? words.size() : 1;
  }
  if (row->place == ValuePlace::glued)
    refuse(table, fmt::format("{0} needs a value in the same word, as {0}VALUE", name));
  if (words.size() < 2) refuse(table, fmt::format("{} needs a value", name));
  take(table, *row, {name, words[1]});
  return 2;
}

}  // namespace

OptionRow taken(std::string_view names, ValuePlace place, std::string_view help, TakeOption take) {
  return {names, place, help, std::move(take), {}};
}

OptionRow ignored(std::string_view names, ValuePlace place, std::string_view help) {
  return {names, place, help, {}, {}};
}

OptionRow refused(std::string_view names, ValuePlace place, std::string_view why) {
  return {names, place, {}, {}, why};
}

OptionRow last(std::string_view names, TakeOption take) {
  return {names, ValuePlace::none, {}, std::move(take), {}, true};
}

std::vector<OptionRow> joined(std::initializer_list<std::vector<OptionRow>> tables) {
  std::vector<OptionRow> rows;
  for (const std::vector<OptionRow>& table : tables) rows.insert(rows.end(), table.begin(), table.end());
  return rows;
}

TakeOption set_flag(bool& to, bool value) {
  return [&to, value](const GivenOption& /*given*/) { to = value; };
}

TakeOption store_number(std::uint64_t& to, std::uint64_t least, std::uint64_t most) {
  return [&to, least, most](const GivenOption& given) {
    const std::optional<std::uint64_t> number = whole_number(given.value);
    if (!number || *number < least || *number > most) {
      const std::string range = most == UINT64_MAX ? fmt::format("of {} or more", least)
                                                   : fmt::format("from {} to {}", least, most);
      throw UsageError(
          fmt::format("{} must have a whole number {}, not '{}'", given.name, range, given.value));
    }
    to = *number;
  };
}

TakeOption store_number(std::uint32_t& to, std::uint32_t least, std::uint32_t most) {
  return [&to, least, most](const GivenOption& given) {
    std::uint64_t number = 0;
    store_number(number, least, most)(given);
    to = static_cast<std::uint32_t>(number);
  };
}

TakeOption store_leading_number(std::uint64_t& to, std::uint64_t least, std::uint64_t most) {
  return [&to, least, most](const GivenOption& given) {
    const std::string_view digits = given.value.substr(0, given.value.find_first_not_of("0123456789"));
    store_number(to, least, most)({given.name, digits.empty() ? given.value : digits});
  };
}

TakeOption store_text(std::string& to) {
  return [&to](const GivenOption& given) {
    if (given.value.empty()) throw UsageError(fmt::format("{} needs a value", given.name));
    to = given.value;
  };
}

bool is_option_word(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

std::size_t take_options(const OptionTable& table, std::span<const std::string> words) {
  std::size_t taken_words = 0;
  while (taken_words < words.size() && is_option_word(words[taken_words]))
    taken_words += take_one(table, words.subspan(taken_words));
  return taken_words;
}

std::vector<std::string> take_all_options(const OptionTable& table, std::span<const std::string> words) {
  std::vector<std::string> others;
  while (!words.empty()) {
    if (words.front() == "--") {
      others.insert(others.end(), words.begin() + 1, words.end());
      break;
    }
    const bool is_option = is_option_word(words.front());
    if (!is_option) others.push_back(words.front());
    words = words.subspan(is_option ? take_one(table, words) : 1);
  }
  return others;
}

void say_ignored(std::string_view program, std::span<const std::string> words) {
  if (words.empty()) return;
  std::string names;
  for (const std::string& word : words) names += fmt::format("{}'{}'", names.empty() ? "" : ", ", word);
  warn(fmt::format("{}: it takes no more arguments, and ignores {}", program, names));
}

std::string options_text(const OptionTable& table) {
  std::string text;
  for (const OptionRow& row : table.rows) {
    if (row.is_last) continue;
    std::string names(row.names);
    if (row.place == ValuePlace::glued) names += "VALUE";
    if (row.place == ValuePlace::optional) names += "[VALUE]";
    if (row.place == ValuePlace::free) names += " VALUE";
    const std::string what = !row.refusal.empty() ? fmt::format("refused: {}", row.refusal)
                             : !row.take          ? fmt::format("{} (means nothing here)", row.help)
                                                  : std::string(row.help);
    text += fmt::format("  {:<22} {}\n", names, what);
  }
  return text;
}

std::string help_text(const OptionTable& table, std::string_view arguments) {
  return fmt::format("Usage: {} [options] {}\nOptions:\n{}", table.program, arguments, options_text(table));
}

}  // namespace warpmer::cli
