#include "cli/application.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <utility>

#include "cli/commands.h"
#include "cli/help.h"
#include "core/error.h"
#include "engine/ranks.h"

namespace warpmer::cli {
namespace {

constexpr const char* kRootDescription =
    "Counts the k-mers of sequencing reads, exactly, and answers questions about them.\n"
    "Inputs are any mix of FASTA and FASTQ (plain, gzip, BGZF), BAM and CRAM, recognised by their content.";

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
  3  an input is unreadable, corrupt or truncated
  4  memory, disk or a device is exhausted or missing
  5  a bug in warpmer
)";

bool is_shell_safe(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("@%+=:,./_-").find(c) != std::string_view::npos;
}

/// Option names as a user would type them: CLI11 reports unknown ones so.
bool looks_like_option(const std::string& argument) { return argument.size() > 1 && argument.front() == '-'; }

/// CLI11 lets an option take the next word whatever it is: `-o -t 8` would write a file named `-t`.
void check_values(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& value : option->results()) {
      if (looks_like_option(value)) {
        throw UsageError(fmt::format(
            "{} needs a value, and '{}' looks like an option; a file of that name can be given as './{}'",
            option->get_name(), value, value));
      }
    }
  }
}

/// CLI11's words for a missing or repeated value, in ours.
std::string render_mismatch(const std::string& message) {
  const std::string name = message.substr(0, message.find(':'));
  return message.find("At Most") != std::string::npos ? name + " is given more than once"
                                                      : name + " needs a value";
}

}  // namespace

Application::Application(std::string command_line, engine::Ranks& ranks)
    : root_(kRootDescription, "warpmer"), command_line_(std::move(command_line)), ranks_(ranks) {
  root_.footer(kRootFooter);
  root_.require_subcommand(1);
  root_.formatter(std::make_shared<HelpFormatter>());
  root_.set_help_flag("-h,--help", "Print this help and exit.");
  root_.set_version_flag("-V,--version", "warpmer " WARPMER_VERSION, "Print the version and exit.");
  add_count_command(*this);
  add_plan_command(*this);
  add_update_command(*this);
  add_set_commands(*this);
  add_compare_command(*this);
  add_matrix_command(*this);
  add_histo_command(*this);
  add_dump_command(*this);
  add_convert_command(*this);
  add_query_command(*this);
  add_qv_command(*this);
  add_filter_command(*this);
  add_positions_command(*this);
  add_locate_command(*this);
  add_stats_command(*this);
  add_info_command(*this);
  add_devices_command(*this);
  add_help_command(*this);
  add_completion_command(*this);
}

CLI::App& Application::add_command(const std::string& name, const std::string& description,
                                   const std::string& footer) {
  CLI::App* command = root_.add_subcommand(name, description);
  command->footer(footer);
  return *command;
}

void Application::on_run(const CLI::App& command, Action action) {
  actions_[command.get_name()] = std::move(action);
}

int Application::run(std::vector<std::string> arguments) {
  check_command_name(arguments);
  arguments = protect_file_names(arguments);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  root_.parse(arguments);
  check_ranks(root_.get_subcommands().front()->get_name());
  check_values(*root_.get_subcommands().front());
  return actions_.at(root_.get_subcommands().front()->get_name())();
}

/// The others would do the same work several times, and write the same file.
void Application::check_ranks(const std::string& command) const {
  if (!ranks_.are_several() || std::find(of_ranks_.begin(), of_ranks_.end(), command) != of_ranks_.end())
    return;
  throw UsageError(
      fmt::format("'warpmer {}' was started as {} processes, but only {} run on several ranks of MPI; "
                  "start it without mpirun or srun",
                  command, ranks_.size(), fmt::join(of_ranks_, " and ")));
}

// CLI11 would only say that "a subcommand is required".
void Application::check_command_name(const std::vector<std::string>& arguments) const {
  if (arguments.empty()) {
    throw UsageError("no command given; 'warpmer --help' lists them");
  }
  const std::string& name = arguments.front();
  if (looks_like_option(name) || actions_.contains(name)) {
    return;
  }
  throw UsageError("there is no command '" + name + "'; 'warpmer --help' lists them");
}

std::string Application::render_parse_error(const CLI::ParseError& error) const {
  const auto chosen = root_.get_subcommands();
  const CLI::App& app = chosen.empty() ? root_ : *chosen.front();
  const std::string program = chosen.empty() ? "warpmer" : "warpmer " + app.get_name();
  // What was not understood comes first: it often is the reason why something else is missing.
  std::string message = error.what();
  const std::vector<std::string> extras = app.remaining();
  if (!extras.empty()) {
    message = (looks_like_option(extras.front()) ? "unknown option '" : "unexpected argument '") +
              extras.front() + "'";
  } else if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    message = render_mismatch(message);
  } else if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    const std::string suffix = " is required";
    if (message.size() > suffix.size() && message.ends_with(suffix)) {
      message = "missing " + message.substr(0, message.size() - suffix.size());
    }
  }
  return message + " (see '" + program + " --help')";
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
    if (!line.empty()) {
      line += ' ';
    }
    if (!argument.empty() && std::all_of(argument.begin(), argument.end(), is_shell_safe)) {
      line += argument;
      continue;
    }
    line += '\'';
    for (const char c : argument) {
      line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    }
    line += '\'';
  }
  return line;
}

}  // namespace warpmer::cli
