#include "cli/framework/application.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "cli/framework/command_doc.h"
#include "cli/framework/command_files.h"
#include "cli/framework/commands.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/help.h"
#include "cli/framework/messages.h"
#include "cli/framework/suggestion.h"
#include "cli/framework/text_output.h"
#include "file/checksum.h"
#include "file/output/output_group.h"
#include "file/shell_word.h"
#include "mpi/process_group.h"

namespace warpmer::cli {
namespace {

constexpr const char* kRootDescription =
    "Counts the k-mers of sequencing reads, exactly, and answers questions about them.\n"
    "Inputs are any mix of FASTA and FASTQ (plain, gzip, BGZF, zstd, bzip2, xz), BAM and CRAM, recognised by "
    "their content.";

constexpr const char* kRootFooter =
    R"(Examples:
  warpmer count -k 31 -o sample.wmi reads_1.fq.gz reads_2.fq.gz
  warpmer histo sample.wmi
  warpmer query sample.wmi --reads other.fq.gz > profile.tsv
  warpmer filter sample.wmi other.fq.gz -o shared.fq.gz
  warpmer positions -o genome.wmp genome.fa
  warpmer locate genome.wmp --reads other.fq.gz > hits.tsv

Exit status:
  0  done
  1  query or locate --exit-status found nothing
  2  the command line is wrong
  3  an input is unreadable, corrupt or truncated, or --strict met a warning
  4  memory, disk, a device or a server is exhausted or missing
  5  a bug in warpmer
)";

/// Commands that are declared together, and need to know of no others.
struct CommandEntry {
  std::array<std::string_view, 5> names;  ///< none for those that tell about all commands
  void (*add)(Application&);
};

/// The list of commands, in the order of `--help`.
constexpr CommandEntry kCommands[] = {
    {{"count"}, add_count_command},
    {{"plan"}, add_plan_command},
    {{"update"}, add_update_command},
    {{"union", "intersect", "subtract", "symmetric-difference", "merge"}, add_set_commands},
    {{"compare"}, add_compare_command},
    {{"matrix"}, add_matrix_command},
    {{"histo"}, add_histo_command},
    {{"dump"}, add_dump_command},
    {{"convert"}, add_convert_command},
    {{"query"}, add_query_command},
    {{"qv"}, add_qv_command},
    {{"merqury"}, add_merqury_command},
    {{"hetmers"}, add_hetmers_command},
    {{"filter"}, add_filter_command},
    {{"positions"}, add_positions_command},
    {{"locate"}, add_locate_command},
    {{"serve"}, add_serve_command},
    {{"add", "remove"}, add_live_commands},
    {{"save"}, add_save_command},
    {{"stats"}, add_stats_command},
    {{"report"}, add_report_command},
    {{"info"}, add_info_command},
    {{"watch"}, add_watch_command},
    {{"devices"}, add_devices_command},
    {{"names"}, add_names_command},
    {{}, add_help_command},
    {{}, add_completion_command},
};

/// Option names as a user would type them: CLI11 reports unknown ones so.
bool looks_like_option(const std::string& argument) { return argument.size() > 1 && argument.front() == '-'; }

/// CLI11 lets an option take the next word whatever it is: `-o -t 8` would write a file named `-t`, and
/// `-o=x` one named `=x`. An empty one is most often a variable that is not set: `--only "$panel"` would
/// count all k-mers.
void check_values(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    const bool names_files = is_path(option->get_type_name());
    for (const std::string& value : option->results()) {
      const auto way_out = [&] {
        return names_files ? fmt::format("; a file of that name can be given as './{}'", value)
                           : std::string();
      };
      if (value.empty() && !option->get_positional())
        throw UsageError(fmt::format("{} is empty; give a value, or leave it out", option->get_name()));
      if (value.starts_with('=') && !option->get_positional()) {
        throw UsageError(fmt::format("the value of {} is '{}'; leave the '=' out{}", option->get_name(),
                                     value, way_out()));
      }
      if (looks_like_option(value)) {
        throw UsageError(fmt::format("{} needs a value, and '{}' looks like an option{}", option->get_name(),
                                     value, way_out()));
      }
    }
  }
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const OptionDoc& option : describe(app).options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

/// Returns a hint at what an unknown option of a command, or of the program, may have been.
std::string hint_for_option(const CLI::App& app, const std::string& option) {
  std::string hint = did_you_mean(near_options(option, option_names(app)));
  const auto commands = app.get_subcommands({});
  if (!hint.empty() || commands.empty()) return hint;
  const std::string name = option.substr(0, option.find('='));
  for (const CLI::App* command : commands) {
    const std::vector<std::string> names = option_names(*command);
    if (std::find(names.begin(), names.end(), name) != names.end())
      return fmt::format("; it goes behind the command, as in 'warpmer {} {}'", command->get_name(), name);
  }
  return "";
}

/// CLI11 takes `-hx` for help, and drops what it does not know of it.
void check_help_flags(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--") return;
    if (argument.starts_with("--help=") || argument.starts_with("--version=")) {
      throw UsageError(fmt::format("unknown option '{}': {} takes no value", argument,
                                   argument.substr(0, argument.find('='))));
    }
    if (argument.size() < 3 || argument[0] != '-' || argument[1] == '-') continue;
    // Letters before it may be switches: -qh.
    const std::size_t letter = argument.find_first_not_of("qv", 1);
    if (letter == std::string::npos || letter + 1 == argument.size()) continue;
    if (argument[letter] != 'h' && argument[letter] != 'V') continue;
    throw UsageError(fmt::format("unknown option '{}': nothing can follow the {} of -{}", argument,
                                 argument[letter], argument[letter]));
  }
}

/// CLI11's words for a missing or repeated value, in ours.
std::string render_mismatch(const std::string& message) {
  const std::string name = message.substr(0, message.find(':'));
  if (message.find("At Most") != std::string::npos) return name + " is given more than once";
  const std::size_t number = message.find_first_of("23456789", name.size());
  return number == std::string::npos ? name + " needs a value"
                                     : fmt::format("{} needs {} values", name, message[number]);
}

/// Says that an argument is missing, and which one an option that takes several files has probably taken for
/// one of its own: CLI11 gives it all that follows.
std::string missing_text(const CLI::App& command, const std::string& name) {
  const auto has_taken = [](const CLI::Option* option) {
    return !option->get_positional() && option->get_items_expected_max() > 1 && option->results().size() > 1;
  };
  const auto options = command.get_options();
  const auto found = std::find_if(options.begin(), options.end(), has_taken);
  if (found == options.end() || command.get_option_no_throw(name) == nullptr) return "missing " + name;
  return fmt::format("missing {}; '{}' was taken as one of {}: name {} first", name,
                     (*found)->results().back(), (*found)->get_name(), name);
}

/// "a, b and c".
std::string list_of(std::vector<std::string> names) {
  const std::string last = std::move(names.back());
  names.pop_back();
  return fmt::format("{} and {}", fmt::join(names, ", "), last);
}

}  // namespace

Application::Application(std::string command_line, mpi::ProcessGroup& ranks, std::string_view asked)
    : root_(kRootDescription, "warpmer"), command_line_(std::move(command_line)), ranks_(ranks) {
  root_.footer(kRootFooter);
  root_.require_subcommand(1);
  root_.formatter(std::make_shared<HelpFormatter>());
  root_.set_help_flag("-h,--help", "Print this help and exit.");
  root_.set_version_flag("-V,--version", "warpmer " WARPMER_VERSION, "Print the version and exit.");
  // To declare all flags takes longer than many a query. Help, completion and hints are made of them, and
  // what is said of ranks.
  const bool is_for_one = !asked.empty() && !ranks.are_several();
  const auto is_asked = [&](const CommandEntry& entry) {
    return is_for_one && std::find(entry.names.begin(), entry.names.end(), asked) != entry.names.end();
  };
  const auto* const one = std::find_if(std::begin(kCommands), std::end(kCommands), is_asked);
  for (const CommandEntry& entry : kCommands) {
    if (one == std::end(kCommands) || one == &entry) entry.add(*this);
  }
}

CLI::App& Application::add_command(const std::string& name, const std::string& description,
                                   const std::string& footer) {
  CLI::App* command = root_.add_subcommand(name, description);
  command->footer(footer);
  return *command;
}

void Application::on_run(CLI::App& command, Action action) {
  add_force_flag(command);
  add_message_flags(command);
  actions_[command.get_name()] = std::move(action);
}

int Application::run(std::vector<std::string> arguments) {
  if (arguments.empty()) return print_overview();
  check_command_name(arguments);
  check_help_flags(arguments);
  arguments = protect_file_names(arguments);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  root_.parse(arguments);
  const CLI::App& command = *root_.get_subcommands().front();
  check_told_alike(command);
  check_ranks(command.get_name());
  note_lone_tasks(command.get_name());
  check_values(command);
  if (ranks_.is_first()) check_files(command);  // what others would find does not count
  file::OutputGroup outputs;
  const int status = actions_.at(command.get_name())();
  outputs.name_all();
  return status;
}

/// Whoever types the bare name wants to know what there is; for a script it is a command line without a
/// command.
int Application::print_overview() const {
  check_told_alike("nothing");
  if (ranks_.is_first()) {
    TextOutput output("-");
    output.write(root_.help());
    output.finish();
  }
  return kUsageError;
}

/// The others would do the same work several times, and write the same file.
void Application::check_ranks(const std::string& command) const {
  if (!ranks_.are_several() || std::find(of_ranks_.begin(), of_ranks_.end(), command) != of_ranks_.end())
    return;
  throw UsageError(
      fmt::format("'warpmer {}' was started as {} processes, but only {} run on several ranks of MPI; "
                  "start it without mpirun or srun",
                  command, ranks_.size(), list_of(of_ranks_)));
}

/// No error: with --multi-prog each task may have an output of its own.
void Application::note_lone_tasks(const std::string& command) const {
  constexpr std::string_view kOfEachTask = "devices";  // says what each has, and writes no file
  if (command == kOfEachTask || std::find(of_ranks_.begin(), of_ranks_.end(), command) == of_ranks_.end())
    return;
  const unsigned tasks = mpi::lone_tasks();
  if (tasks == 1) return;
  print_last_line(
      fmt::format("note: srun has started {} tasks, and each does all of its job by itself, though they may "
                  "write the same output: start one (srun -n 1), or ranks of MPI (srun --mpi=pmix)",
                  tasks));
}

/// Options of a rank's own node may be otherwise on each: also which of its GPUs it takes.
void Application::check_told_alike(const CLI::App& command) const {
  constexpr std::array<std::string_view, 6> kOwn = {"--threads", "--memory", "--device-memory",
                                                    "--tmp-dir", "--quiet",  "--progress"};
  std::vector<std::string> words = {command.get_name()};
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0 || std::find(kOwn.begin(), kOwn.end(), name) != kOwn.end()) continue;
    words.push_back(name);
    for (const std::string& value : option->results())
      words.push_back(name == "--device" && value.starts_with("cuda:") ? "cuda" : value);
  }
  check_told_alike(quote_command_line(words));
}

// Ranks that count into different files would make one index of all, and lose the other names.
void Application::check_told_alike(std::string_view told) const {
  if (!ranks_.are_several()) return;
  const std::string all = fmt::format("{} {}", WARPMER_VERSION, told);
  const std::optional<unsigned> other = ranks_.first_other(file::checksum(all.data(), all.size()));
  if (!other) return;
  throw UsageError(
      fmt::format("rank {} of MPI was started with another command line than rank 0: ranks do one job "
                  "together, and may differ in -t, -m, --device-memory, --tmp-dir and the numbers of GPUs "
                  "alone; for a job of each process start it without mpirun, or with srun --mpi=none",
                  *other));
}

// CLI11 would only say that "a subcommand is required".
void Application::check_command_name(const std::vector<std::string>& arguments) const {
  const std::string& name = arguments.front();
  if (!looks_like_option(name) && !actions_.contains(name)) throw UsageError(no_command_text(name));
}

std::string Application::no_command_text(const std::string& name) const {
  std::vector<std::string> names;
  for (const auto& action : actions_) names.push_back(action.first);
  return fmt::format("there is no command '{}'{} ('warpmer --help' lists all)", name,
                     did_you_mean(near_words(name, names)));
}

std::string Application::render_parse_error(const CLI::ParseError& error) const {
  const auto chosen = root_.get_subcommands();
  // Options before the command are the program's own.
  const bool is_of_command = !chosen.empty() && root_.remaining().empty();
  const CLI::App& app = is_of_command ? *chosen.front() : root_;
  const std::string program = is_of_command ? "warpmer " + app.get_name() : "warpmer";
  // Arguments that were not understood come first: they often are the reason why something else is missing.
  std::string message = error.what();
  const std::vector<std::string> extras = app.remaining();
  if (!extras.empty() && looks_like_option(extras.front())) {
    message = "unknown option '" + extras.front() + "'" + hint_for_option(app, extras.front());
  } else if (!extras.empty()) {
    message = "unexpected argument '" + extras.front() + "'";
  } else if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    message = render_mismatch(message);
  } else if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    const std::string suffix = " is required";
    if (message.size() > suffix.size() && message.ends_with(suffix))
      message = missing_text(app, message.substr(0, message.size() - suffix.size()));
  }
  return message + " (see '" + program + " --help')";
}

std::string Application::default_memory_note(const std::string& message) const {
  const auto chosen = root_.get_subcommands();
  if (chosen.empty() || !names_option(message, "-m")) return "";
  const CLI::Option* memory = chosen.front()->get_option_no_throw("--memory");
  const CLI::Option* server = chosen.front()->get_option_no_throw("--server");
  if (memory == nullptr || memory->count() > 0) return "";
  if (server != nullptr && server->count() > 0) return "";  // whose errors quote its own
  return " (-m was not given: it is a part of the memory that this process may use and that is free)";
}

std::vector<std::string> protect_file_names(const std::vector<std::string>& arguments) {
  std::vector<std::string> result;
  bool only_files = false;
  for (const std::string& argument : arguments) {
    if (!only_files && argument == "--") {
      only_files = true;
      continue;
    }
    const bool list_like = argument.size() > 1 && argument.front() == '[' && argument.back() == ']';
    const bool option_like = only_files && looks_like_option(argument);
    result.push_back(list_like || option_like ? "./" + argument : argument);
  }
  return result;
}

std::string quote_command_line(const std::vector<std::string>& arguments) {
  std::string line;
  for (const std::string& argument : arguments) {
    if (!line.empty()) line += ' ';
    line += file::shell_word(argument);
  }
  return line;
}

}  // namespace warpmer::cli
