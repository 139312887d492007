/// `jellyfish`: counts k-mers and reads its databases, by the command lines of Jellyfish 2.3.

#include "cli/personalities/jellyfish/jellyfish.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/number_text.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/suggestion.h"
#include "cli/personalities/programs.h"
#include "formats/jellyfish/jellyfish_file.h"
#include "formats/jellyfish/jellyfish_text.h"
#include "system/program.h"

namespace warpmer::cli {
namespace {

struct JellyfishCommand {
  std::string_view name;
  int (*run)(const JellyfishWords& command);
  std::string_view refusal;  ///< why it is not done
};

constexpr std::array kCommands = {
    JellyfishCommand{"count", run_jellyfish_count, {}},
    JellyfishCommand{"bc", run_jellyfish_bc, {}},
    JellyfishCommand{"info", run_jellyfish_info, {}},
    JellyfishCommand{"stats", run_jellyfish_stats, {}},
    JellyfishCommand{"histo", run_jellyfish_histo, {}},
    JellyfishCommand{"dump", run_jellyfish_dump, {}},
    JellyfishCommand{"merge", run_jellyfish_merge, {}},
    JellyfishCommand{"query", run_jellyfish_query, {}},
    JellyfishCommand{"cite", nullptr,
                     "cite Marcais and Kingsford, Bioinformatics 27(6), 2011, for Jellyfish"},
    JellyfishCommand{"mem", run_jellyfish_mem, {}},
};

std::string usage_text() {
  std::string names;
  for (const JellyfishCommand& each : kCommands) {
    if (each.run == nullptr) continue;
    if (!names.empty()) names += ", ";
    names += each.name;
  }
  return fmt::format(
      "Usage: jellyfish <cmd> [options] arg...\nWhere <cmd> is one of: {}.\nOptions:\n"
      "  --version        Display version\n  --help           Display this message\n",
      names);
}

[[noreturn]] void refuse_command(const std::string& name) {
  std::vector<std::string> names;
  names.reserve(std::size(kCommands));
  for (const JellyfishCommand& each : kCommands) names.emplace_back(each.name);
  throw UsageError(fmt::format("jellyfish: there is no command '{}'{} (see 'jellyfish --help')", name,
                               did_you_mean(near_words(name, names))));
}

bool is_help(std::string_view word) {
  return word == "--help" || word == "-h" || word == "-help" || word == "help" || word == "-?";
}

}  // namespace

int run_jellyfish(const NamedCall& call) {
  if (call.words.empty()) throw UsageError("jellyfish: there is no command (see 'jellyfish --help')");
  const std::string& name = call.words.front();
  if (is_help(name)) {
    print_on_standard_output(usage_text());
    return kDone;
  }
  if (name == "--version" || name == "-V") {
    print_on_standard_output("jellyfish 2.3.0\n");
    return kDone;
  }
  const auto found = std::ranges::find(kCommands, name, &JellyfishCommand::name);
  if (found == kCommands.end()) refuse_command(name);
  if (found->run == nullptr) throw UsageError(fmt::format("jellyfish {}: {}", name, found->refusal));
  return found->run({call, {call.words.begin() + 1, call.words.end()}});
}

std::optional<std::vector<std::string>> jellyfish_arguments(const JellyfishWords& command, OptionTable table,
                                                            std::string_view arguments, std::size_t least,
                                                            std::size_t most) {
  bool wants_help = false, wants_version = false;
  table.is_getopt = true;
  // Behind the command's own: -h of histo is another.
  table.rows.push_back(last("-h,--help,--full-help,--usage", set_flag(wants_help)));
  table.rows.push_back(last("-V,--version", set_flag(wants_version)));
  std::vector<std::string> others = take_all_options(table, command.words);
  if (wants_help || wants_version) {
    print_on_standard_output(wants_help ? help_text(table, arguments) : "2.3.0\n");
    return std::nullopt;
  }
  if (others.size() < least || others.size() > most) {
    throw UsageError(fmt::format("{}: it takes {}, and there {} {} (see 'jellyfish --help')", table.program,
                                 arguments, others.size() == 1 ? "is" : "are", others.size()));
  }
  return others;
}

std::unique_ptr<formats::KmerSource> open_jellyfish(const std::string& path) {
  auto file = formats::map_jellyfish(path);
  const std::string format = formats::read_jellyfish_header(*file, {}).format;
  if (format == formats::kJellyfishText)
    return std::make_unique<formats::JellyfishTextSource>(std::move(file));
  return std::make_unique<formats::JellyfishSource>(std::move(file), formats::JellyfishZeros::keep);
}

formats::JellyfishCall jellyfish_call(const NamedCall& call) {
  namespace fs = std::filesystem;
  std::error_code failed;
  formats::JellyfishCall made_by;
  made_by.command_line = call.words;
  made_by.program = system::program_path();
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0) made_by.host = host.data();
  made_by.directory = fs::current_path(failed).string();
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::array<char, 64> text{};
  std::tm local{};
  std::strftime(text.data(), text.size(), "%a %b %e %H:%M:%S %Y", ::localtime_r(&now, &local));
  made_by.time = text.data();
  return made_by;
}

TakeOption store_suffixed(std::uint64_t& to) {
  return [&to](const GivenOption& given) {
    constexpr std::string_view kSuffixes = "kMGTPE";
    std::string_view digits = given.value;
    std::uint64_t factor = 1;
    if (const std::size_t at = digits.empty() ? std::string_view::npos : kSuffixes.find(digits.back());
        at != std::string_view::npos) {
      for (std::size_t i = 0; i <= at; ++i) factor *= 1000;
      digits.remove_suffix(1);
    }
    const std::optional<std::uint64_t> number = whole_number(digits);
    if (!number)
      throw UsageError(fmt::format("{} must have a number such as 100M, not '{}'", given.name, given.value));
    to = *number > UINT64_MAX / factor ? UINT64_MAX : *number * factor;
  };
}

}  // namespace warpmer::cli
