#include "file/suggestion.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "file/input_error.h"
#include "file/shell_word.h"

namespace warpmer::file {
namespace {

/// A longer command makes no readable message.
constexpr std::size_t kLongestCommand = 400;

struct NotedCommand {
  std::vector<std::string> words, file_flags;
};

NotedCommand& noted_command() {
  static NotedCommand command;
  return command;
}

struct NamePlace {
  std::size_t word, begin;  ///< number of the word, and where the name begins in it
};
/// Returns the place of an input's name in the noted words, which may be `--flag=NAME`; none where it is not
/// there, or of a flag whose inputs cannot be pipes.
std::optional<NamePlace> place_of(std::string_view name) {
  const auto& [words, file_flags] = noted_command();
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.ends_with(name)) continue;
    const std::size_t begin = word.size() - name.size();
    const bool is_of_flag = begin > 0;
    if (is_of_flag && !(word.starts_with("--") && word[begin - 1] == '=')) continue;
    const std::string flag = is_of_flag ? word.substr(0, begin - 1) : words[i - 1];
    if (std::ranges::find(file_flags, flag) == file_flags.end()) return NamePlace{i, begin};
  }
  return std::nullopt;
}

/// Returns the command that runs, with an input that comes from a producer; empty when that is not the way.
std::string command_with(std::string_view producer, std::string_view shown) {
  const std::optional<NamePlace> standard_input = place_of("-");
  std::optional<NamePlace> place = shown == kStandardInput ? standard_input : place_of(shown);
  if (!place && shown.starts_with("./-")) place = place_of(shown.substr(2));  // -x behind -- is shown so
  if (!place) return {};
  // There is one standard input.
  const bool is_substituted = shown != kStandardInput && standard_input;
  std::string command = is_substituted ? "" : fmt::format("{} | ", producer);
  const std::vector<std::string>& words = noted_command().words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) command += ' ';
    command += i != place->word ? shell_word(words[i])
                                : words[i].substr(0, place->begin) +
                                      (is_substituted ? fmt::format("<({})", producer) : "-");
  }
  return command.size() <= kLongestCommand ? command : std::string();
}

}  // namespace

void note_command_line(std::vector<std::string> words, std::vector<std::string> file_flags) {
  noted_command() = {std::move(words), std::move(file_flags)};
}

std::string piped_in(std::string_view converter, std::string_view shown) {
  const std::string producer = fmt::format(fmt::runtime(converter), shell_input(shown));
  const std::string command = command_with(producer, shown);
  return command.empty() ? fmt::format("`{} | warpmer count -o out.wmi -`", producer)
                         : fmt::format("`{}`", command);
}

}  // namespace warpmer::file
