#include "cli/personalities/personality.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/error.h"
#include "base/number_text.h"
#include "base/warning.h"
#include "cli/arguments/flags.h"
#include "cli/framework/application.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/messages.h"
#include "cli/framework/text_output.h"
#include "cli/personalities/programs.h"
#include "file/output/output_group.h"
#include "mpi/process_group.h"

namespace warpmer::cli {
namespace {

/// The links in libexec have these names, too (cli/CMakeLists.txt).
constexpr std::array kPersonalities = {
    Personality{"kmc", run_kmc},
    Personality{"kmc_dump", run_kmc_dump},
    Personality{"kmc_tools", run_kmc_tools},
    Personality{"jellyfish", run_jellyfish},
    Personality{"FastK", run_fastk},
    Personality{"Histex", run_histex},
    Personality{"Tabex", run_tabex},
    Personality{"Fastmerge", run_fastmerge},
    Personality{"Fastrm", run_fastrm},
    Personality{"Fastmv", run_fastmv},
    Personality{"Fastcp", run_fastmv},
    Personality{"yak", run_yak},
};

const Personality* personality_named(std::string_view name) {
  const auto found = std::ranges::find(kPersonalities, name, &Personality::name);
  return found == kPersonalities.end() ? nullptr : &*found;
}

/// Returns a variable's text; empty where it is not set.
std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

unsigned threads_of_environment() {
  const std::string text = variable("WARPMER_THREADS");
  if (text.empty()) return 0;
  const std::optional<std::uint64_t> threads = whole_number(text);
  constexpr std::uint64_t kMost = 4096;
  if (!threads || *threads < 1 || *threads > kMost) {
    throw UsageError(
        fmt::format("WARPMER_THREADS must be a whole number from 1 to {}, not '{}'", kMost, text));
  }
  return static_cast<unsigned>(*threads);
}

std::uint64_t memory_of_environment() {
  const std::string text = variable("WARPMER_MEMORY");
  if (text.empty()) return 0;
  return parse_memory("WARPMER_MEMORY", text);
}

/// Returns the threads that a job of these programs has memory for: their originals take any number. Counting
/// takes 76 MiB, and 18 to 21 for a thread (64-mers, two files of gzip).
unsigned threads_in(std::uint64_t memory_bytes) {
  constexpr std::uint64_t kOfAll = std::uint64_t{96} << 20, kOfThread = std::uint64_t{24} << 20;
  const std::uint64_t threads = (memory_bytes - std::min(memory_bytes, kOfAll)) / kOfThread;
  return static_cast<unsigned>(std::clamp<std::uint64_t>(threads, 1, UINT16_MAX));
}

/// From now on, warnings say what options are called here, as errors do.
void note_options_in_warnings(const NamedCall& call) {
  const WarningHandler print = listen_for_warnings({});
  listen_for_warnings([call, print](const std::string& message) {
    if (print) print(message + options_note(call, ErrorKind::resource, message));
  });
}

}  // namespace

std::span<const Personality> personalities() { return kPersonalities; }

std::optional<NamedCall> named_call(const std::vector<std::string>& command_line) {
  const auto call_from = [&](std::size_t name) -> std::optional<NamedCall> {
    if (name >= command_line.size()) return std::nullopt;
    const std::string& word = command_line[name];
    const std::string base = name == 0 ? word.substr(word.rfind('/') + 1) : word;
    if (personality_named(base) == nullptr) return std::nullopt;
    const auto behind = command_line.begin() + static_cast<std::ptrdiff_t>(name) + 1;
    return NamedCall{
        base, {behind, command_line.end()}, {WARPMER_VERSION, quote_command_line(command_line), {}}};
  };
  std::optional<NamedCall> call = call_from(0);
  return call ? call : call_from(1);
}

int run_named(const NamedCall& call, const mpi::ProcessGroup& ranks) {
  if (ranks.are_several()) {
    throw UsageError(
        fmt::format("'{}' was started as {} processes; start it without mpirun or srun, or use "
                    "'warpmer count', which runs on several ranks of MPI",
                    call.program, ranks.size()));
  }
  note_options_in_warnings(call);
  file::OutputGroup outputs;
  const int status = personality_named(call.program)->run(call);
  outputs.name_all();
  return status;
}

int status_of_named(int status) {
  constexpr int kFailed = 1;
  return status == kDone || status == kUsageError ? status : kFailed;
}

std::string options_note(const NamedCall& call, ErrorKind kind, const std::string& message) {
  if (kind == ErrorKind::usage) return "";
  const bool is_fastk = call.program == "FastK", is_kmc = call.program == "kmc";
  std::string note;
  if (names_option(message, "-m")) {
    note += fmt::format(" (-m is WARPMER_MEMORY here{})", is_fastk ? ", or FastK's -M"
                                                          : is_kmc ? ", or KMC's -m"
                                                                   : "");
  }
  if (names_option(message, "--tmp-dir")) {
    note += fmt::format(" (--tmp-dir is {} here)", is_fastk ? "FastK's -P"
                                                   : is_kmc ? "KMC's working directory"
                                                            : "$TMPDIR");
  }
  return note;
}

host::Resources named_resources(std::uint64_t threads, std::uint64_t memory_bytes) {
  host::Resources resources;
  resources.threads = threads > 0 ? static_cast<unsigned>(threads) : threads_of_environment();
  resources.memory_bytes = memory_of_environment();
  const host::Resources most = host::settled(resources, false);  // the job warns of what is left of it
  // These programs take it for a suggestion, and pipelines say 128 GB on small machines.
  if (memory_bytes > 0 && memory_bytes < most.memory_bytes) resources.memory_bytes = memory_bytes;
  const unsigned fit = threads_in(resources.memory_bytes > 0 ? resources.memory_bytes : most.memory_bytes);
  if (most.threads > fit) resources.threads = fit;
  return resources;
}

jobs::DeviceChoice named_device(const std::vector<std::string>& inputs) {
  DeviceFlags flags;
  const std::string device = variable("WARPMER_DEVICE");
  if (!device.empty()) flags.device = device;
  jobs::DeviceChoice choice = choose_device(flags, inputs);
  warn_of(choice);
  return choice;
}

bool asks_for_help(const NamedCall& call) {
  const auto is_help = [](const std::string& word) { return word == "--help" || word == "--version"; };
  return call.words.empty() || std::ranges::any_of(call.words, is_help);
}

void print_on_standard_output(const std::string& text) {
  TextOutput output("-");
  output.write(text);
  output.finish();
}

}  // namespace warpmer::cli
