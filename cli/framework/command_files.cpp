#include "cli/framework/command_files.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cli/framework/messages.h"
#include "file/output/output_group.h"
#include "file/output/output_path.h"
#include "formats/fastk/fastk_table.h"
#include "formats/format.h"
#include "formats/kmc_database.h"
#include "jobs/output_check.h"

namespace warpmer::cli {
namespace {

using formats::Format;

/// The options with a FILE that name an output; the others with a FILE name an input.
constexpr std::array<std::string_view, 9> kOutputs = {"output", "out1",      "out2", "stats",  "svg",
                                                      "png",    "sequences", "save", "multiqc"};

bool is_output(const CLI::Option& option) {
  return std::any_of(option.get_lnames().begin(), option.get_lnames().end(), [](const std::string& name) {
    return std::find(kOutputs.begin(), kOutputs.end(), name) != kOutputs.end();
  });
}

bool is_file(const CLI::Option& option) { return option.get_type_name() == "FILE"; }

/// Returns an option's name in messages.
std::string flag_of(const CLI::Option& option) {
  return option.get_snames().empty() ? "--" + option.get_lnames().front() : "-" + option.get_snames().front();
}

std::vector<std::string> values_of(const CLI::App& command, const char* name) {
  const CLI::Option* option = command.get_option_no_throw(name);
  return option ? option->results() : std::vector<std::string>();
}

struct Output {
  std::string flag;
  std::string path;

  /// Returns the place of the output, which is the same for all its names; "-" for standard output.
  [[nodiscard]] std::string place() const {
    namespace fs = std::filesystem;
    if (file::is_standard_output(path)) return "-";
    std::error_code failed;
    const fs::path place = fs::weakly_canonical(fs::absolute(file::resolve(path), failed), failed);
    return failed ? path : place.string();  // a name that cannot be is refused later
  }
};

/// Returns the format of several files that an output will be; nothing for one file.
std::optional<Format> format_of_several(const CLI::App& command, const std::string& path) {
  const std::vector<std::string> names = values_of(command, "--to");
  const auto format = names.empty() ? formats::format_of_path(path) : formats::format_of_name(names.back());
  return format == Format::kmc || format == Format::fastk ? format : std::nullopt;
}

std::vector<Output> outputs_of(const CLI::App& command) {
  std::vector<Output> outputs;
  for (const CLI::Option* option : command.get_options()) {
    if (!is_output(*option)) continue;
    std::vector<std::string> paths = option->results();
    const bool is_main = option->check_lname("output");
    if (is_main && paths.empty() && values_of(command, "--out1").empty()) paths.emplace_back("-");
    for (const std::string& path : paths) {
      if (path.empty()) continue;  // which the command itself refuses
      const auto format = is_main ? format_of_several(command, path) : std::nullopt;
      if (format) {
        for (const std::string& file : formats::files_of(path, *format))
          outputs.push_back({flag_of(*option), file});
      } else {
        outputs.push_back({flag_of(*option), path});
      }
    }
  }
  return outputs;
}

std::vector<std::string> inputs_of(const CLI::App& command) {
  std::vector<std::string> inputs;
  for (const CLI::Option* option : command.get_options()) {
    if (!is_file(*option) || is_output(*option)) continue;
    for (const std::string& path : option->results()) {
      inputs.push_back(path);
      if (path.starts_with('@')) inputs.push_back(path.substr(1));
      for (const Format format : {Format::kmc, Format::fastk}) {
        const bool is_there =
            format == Format::kmc ? formats::is_kmc_database(path) : formats::is_fastk_table(path);
        if (!is_there) continue;
        for (std::string& file : formats::files_of(path, format)) inputs.push_back(std::move(file));
      }
    }
  }
  return inputs;
}

/// A device or pipe replaces nothing, so that several outputs may go to it: benchmarks write to /dev/null.
/// Standard output may be a file.
void check_they_differ(const std::vector<Output>& outputs) {
  for (auto a = outputs.begin(); a != outputs.end(); ++a) {
    for (auto b = a + 1; b != outputs.end(); ++b) {
      const bool is_device = file::is_stream(a->path) && a->place() != "-";
      if (a->place() == b->place() && !is_device)
        throw UsageError(fmt::format("{} and {} cannot be the same", a->flag, b->flag));
    }
  }
}

void check_replaces_no_sequences(const Output& output, Force force) {
  if (force == Force::given) return;
  jobs::check_replaces_no_sequences(output.path, force == Force::not_given
                                                     ? "choose another name, or add --force to replace it"
                                                     : "choose another name");
}

}  // namespace

void add_force_flag(CLI::App& command) {
  const std::vector<const CLI::Option*> options = std::as_const(command).get_options();
  if (std::none_of(options.begin(), options.end(), [](const CLI::Option* each) { return is_output(*each); }))
    return;
  command.add_flag_function(
      "--force", [](std::int64_t /*times*/) {},
      "Replace an output also where it is sequence data (FASTA, FASTQ, SAM, BAM, CRAM, compressed "
      "or not), which is refused otherwise. Never one of the inputs.");
}

Force force_of(const CLI::App& command) {
  const CLI::Option* force = command.get_option_no_throw("--force");
  if (force == nullptr) return Force::no_flag;
  return force->count() > 0 ? Force::given : Force::not_given;
}

void check_files(const CLI::App& command) {
  const std::vector<Output> outputs = outputs_of(command);
  if (outputs.empty()) return;
  check_they_differ(outputs);
  const std::vector<std::string> inputs = inputs_of(command);
  for (const Output& output : outputs) jobs::check_is_no_input(output.path, inputs);
  for (const Output& output : outputs) {
    file::check_output_path(output.path);
    check_replaces_no_sequences(output, force_of(command));
  }
}

void check_files(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs,
                 Force force) {
  std::vector<Output> all;
  all.reserve(outputs.size());
  for (const std::string& path : outputs) all.push_back({fmt::format("the output '{}'", path), path});
  check_they_differ(all);
  for (const Output& output : all) {
    jobs::check_is_no_input(output.path, inputs);
    file::check_output_path(output.path);
    check_replaces_no_sequences(output, force);
  }
}

void check_can_be_read_again(const std::vector<std::string>& files, std::string_view what) {
  for (const std::string& name : files) {
    std::error_code ignored;
    if (file::is_stream(name) && !std::filesystem::is_directory(name, ignored)) {
      throw UsageError(
          fmt::format("{} more than once; give a file in the place of {}", what, shown_input(name)));
    }
  }
}

void name_outputs() {
  if (file::OutputGroup* outputs = file::OutputGroup::current()) outputs->name_all();
}

}  // namespace warpmer::cli
