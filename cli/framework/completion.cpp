#include "cli/framework/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/framework/application.h"
#include "cli/framework/command_doc.h"
#include "cli/framework/commands.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/text_output.h"

namespace warpmer::cli {
namespace {

/// `tsv|fasta` names the values to choose from.
std::vector<std::string> choices_of(const OptionDoc& option) {
  std::vector<std::string> choices;
  if (option.value.find('|') == std::string::npos) return choices;
  std::size_t begin = 0;
  for (std::size_t end = 0; end != std::string::npos; begin = end + 1) {
    end = option.value.find('|', begin);
    choices.push_back(option.value.substr(begin, end == std::string::npos ? end : end - begin));
  }
  return choices;
}

std::string join(const std::vector<std::string>& words, const char* separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

std::vector<std::string> names_of(const std::vector<CommandDoc>& commands) {
  std::vector<std::string> names;
  names.reserve(commands.size());
  for (const CommandDoc& command : commands) names.push_back(command.name);
  return names;
}

/// Bash: what may follow an option that takes a value.
void append_bash_values(std::string& out, const CommandDoc& command) {
  std::vector<std::string> plain;  // values that cannot be completed
  for (const OptionDoc& option : command.options) {
    if (option.value.empty()) continue;
    const std::vector<std::string> choices = choices_of(option);
    if (!choices.empty()) {
      out += fmt::format("        {}) _warpmer_offer -W '{}'; return ;;\n", join(option.names, "|"),
                         join(choices, " "));
    } else if (is_path(option.value)) {
      out += fmt::format("        {}) _warpmer_offer_files; return ;;\n", join(option.names, "|"));
    } else {
      plain.insert(plain.end(), option.names.begin(), option.names.end());
    }
  }
  if (!plain.empty()) out += fmt::format("        {}) return ;;\n", join(plain, "|"));
}

void append_bash_command(std::string& out, const CommandDoc& command, const std::string& argument_words) {
  std::vector<std::string> flags;
  for (const OptionDoc& option : command.options)
    flags.insert(flags.end(), option.names.begin(), option.names.end());
  out += fmt::format("    {})\n      case $previous in\n", command.name);
  append_bash_values(out, command);
  out += fmt::format("      esac\n      options='{}'\n      arguments='{}' ;;\n", join(flags, " "),
                     argument_words);
}

/// Zsh: files, and lists of them, @FILE.
constexpr const char* kZshFiles = "{ compset -P @; _files }";

/// Inside zsh's `[...]` and single quotes.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return out;
}

/// The first sentence: completion lists have one line. The dot of a file's ending ends none.
std::string first_sentence(const std::string& text) {
  std::size_t end = text.find_first_of(".;");
  while (end < text.size() && text[end] == '.' && end + 1 < text.size() && text[end + 1] != ' ' &&
         text[end + 1] != '\n')
    end = text.find_first_of(".;", end + 1);
  return text.substr(0, end);
}

std::string zsh_value(const OptionDoc& option) {
  if (option.value.empty()) return "";
  const std::vector<std::string> choices = choices_of(option);
  if (!choices.empty()) return ":value:(" + join(choices, " ") + ")";
  return ":" + option.value + ":" + (is_path(option.value) ? kZshFiles : "");
}

void append_zsh_command(std::string& out, const CommandDoc& command, const std::string& argument_action) {
  out += fmt::format("        {})\n          _arguments -s", command.name);
  for (const OptionDoc& option : command.options) {
    for (const std::string& name : option.names) {
      const char* const equals = name.starts_with("--") && !option.value.empty() ? "=" : "";
      out += fmt::format(" \\\n            '*{}{}[{}]{}'", name, equals,
                         zsh_text(first_sentence(option.text)), zsh_value(option));
    }
  }
  out += fmt::format(" \\\n            '*:argument:{}' ;;\n", argument_action);
}

/// Inside fish's single quotes.
std::string fish_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string fish_value(const OptionDoc& option) {
  if (option.value.empty()) return "";
  const std::vector<std::string> choices = choices_of(option);
  if (!choices.empty()) return " -x -a '" + join(choices, " ") + "'";
  return is_path(option.value) ? " -r -F" : " -x";
}

std::string fish_option(const std::string& condition, const OptionDoc& option) {
  std::string line = "complete -c warpmer" + condition;
  for (const std::string& name : option.names)
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  return line + fish_value(option) + " -d '" + fish_text(first_sentence(option.text)) + "'\n";
}

/// Returns the arguments of the two commands about the program itself; the others take files.
std::string argument_choices(const CommandDoc& root, const CommandDoc& command) {
  if (command.name == "help") return join(names_of(root.commands), " ");
  return command.name == "completion" ? "bash zsh fish" : "";
}

}  // namespace

std::string render_bash_completion(const CommandDoc& root) {
  std::string out =
      "# Bash completion for warpmer; written by `warpmer completion bash`.\n\n"
      "_warpmer_offer() {\n"
      "  local name\n"
      "  while IFS= read -r name; do COMPREPLY+=(\"$name\"); done < <(compgen \"$@\" -- \"$word\")\n"
      "}\n\n"
      "_warpmer_offer_files() {\n"
      "  if [[ $word == @* || $word == '\\@'* ]]; then  # readline writes @ as \\@\n"
      "    word=${word#*@}\n"
      "    _warpmer_offer -P @ -f\n"
      "    compopt -o nospace 2> /dev/null  # it may be a folder\n"
      "  else\n"
      "    _warpmer_offer -f\n"
      "  fi\n"
      "}\n\n"
      "_warpmer() {\n"
      "  local word=$2 previous=${COMP_WORDS[COMP_CWORD-1]} options arguments\n"
      "  [[ $previous != = ]] || previous=${COMP_WORDS[COMP_CWORD-2]}\n"
      "  COMPREPLY=()\n"
      "  if ((COMP_CWORD == 1)); then\n";
  out += fmt::format("    _warpmer_offer -W '{} --help --version'\n    return\n  fi\n",
                     join(names_of(root.commands), " "));
  out += "  case ${COMP_WORDS[1]} in\n";
  for (const CommandDoc& command : root.commands)
    append_bash_command(out, command, argument_choices(root, command));
  out +=
      "  esac\n"
      "  if [[ $word == -* ]]; then\n"
      "    _warpmer_offer -W \"$options\"\n"
      "  elif [[ -n $arguments ]]; then\n"
      "    _warpmer_offer -W \"$arguments\"\n"
      "  else\n"
      "    _warpmer_offer_files\n"
      "  fi\n"
      "}\n\n"
      "complete -o filenames -F _warpmer warpmer\n";
  return out;
}

std::string render_zsh_completion(const CommandDoc& root) {
  std::string out =
      "#compdef warpmer\n"
      "# Zsh completion for warpmer; written by `warpmer completion zsh`.\n\n"
      "_warpmer() {\n"
      "  local curcontext=$curcontext state line\n"
      "  local -a commands\n"
      "  commands=(\n";
  for (const CommandDoc& command : root.commands)
    out += fmt::format("    '{}:{}'\n", command.name, zsh_text(first_sentence(command.summary)));
  out +=
      "  )\n"
      "  _arguments -C '(- *)--help[Print the help]' '(- *)--version[Print the version]' "
      "'1:command:->command' "
      "'*::argument:->argument'\n"
      "  case $state in\n"
      "    command) _describe command commands ;;\n"
      "    argument)\n"
      "      case ${words[1]} in\n";
  for (const CommandDoc& command : root.commands) {
    const std::string choices = argument_choices(root, command);
    append_zsh_command(out, command, choices.empty() ? kZshFiles : "(" + choices + ")");
  }
  out +=
      "      esac ;;\n"
      "  esac\n"
      "}\n\n"
      "_warpmer \"$@\"\n";
  return out;
}

std::string render_fish_completion(const CommandDoc& root) {
  std::string out =
      "# Fish completion for warpmer; written by `warpmer completion fish`.\n\n"
      "complete -c warpmer -n __fish_use_subcommand -f\n"
      "complete -c warpmer -n 'string match -q \"@*\" -- (commandline -ct)'"
      " -a '@(__fish_complete_path (string sub -s 2 -- (commandline -ct)))'\n";
  for (const OptionDoc& option : root.options) out += fish_option(" -n __fish_use_subcommand", option);
  for (const CommandDoc& command : root.commands) {
    out += fmt::format("complete -c warpmer -n __fish_use_subcommand -a {} -d '{}'\n", command.name,
                       fish_text(first_sentence(command.summary)));
  }
  for (const CommandDoc& command : root.commands) {
    const std::string condition = fmt::format(" -n '__fish_seen_subcommand_from {}'", command.name);
    out += "\n";
    const std::string choices = argument_choices(root, command);
    if (!choices.empty()) out += fmt::format("complete -c warpmer{} -f -a '{}'\n", condition, choices);
    for (const OptionDoc& option : command.options) out += fish_option(condition, option);
  }
  return out;
}

void add_completion_command(Application& application) {
  auto shell = std::make_shared<std::string>();
  CLI::App& command = application.add_command(
      "completion", "Print a script that lets a shell complete warpmer's command lines.",
      R"(Examples:
  source <(warpmer completion bash)
  warpmer completion zsh > "${fpath[1]}/_warpmer"
  warpmer completion fish > ~/.config/fish/completions/warpmer.fish
)");
  command.add_option("SHELL", *shell, "bash, zsh or fish.")->required();
  application.on_run(command, [&application, shell] {
    if (*shell != "bash" && *shell != "zsh" && *shell != "fish")
      throw UsageError("completion exists for bash, zsh and fish, not for '" + *shell + "'");
    const CommandDoc root = describe(application.root());
    TextOutput output("-");
    output.write(*shell == "bash"  ? render_bash_completion(root)
                 : *shell == "zsh" ? render_zsh_completion(root)
                                   : render_fish_completion(root));
    output.finish();
    return static_cast<int>(kDone);
  });
}

}  // namespace warpmer::cli
