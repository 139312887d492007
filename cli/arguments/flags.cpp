#include "cli/arguments/flags.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/number_text.h"
#include "cli/arguments/asked_table.h"
#include "cli/arguments/quantity.h"
#include "file/byte_file.h"
#include "formats/format.h"
#include "host/limits.h"
#include "io/text/input_list.h"
#include "io/text/repeated_inputs.h"
#include "jobs/output_check.h"
#include "mpi/process_group.h"

namespace warpmer::cli {
namespace {

/// Beyond any machine; catches a mistyped number before that many threads are started.
constexpr std::uint64_t kMaxThreads = 4096;
/// The largest Phred quality a FASTQ character can express.
constexpr std::uint64_t kMaxBaseQuality = 93;
/// Less than this cannot have been meant: a forgotten unit.
constexpr std::uint64_t kLeastMemoryBytes = std::uint64_t{1} << 20;

std::string range_text(std::uint64_t smallest, std::uint64_t largest) {
  if (largest == UINT64_MAX)
    return smallest == 0 ? "a whole number" : fmt::format("a whole number, at least {}", smallest);
  return fmt::format("a whole number from {} to {}", smallest, largest);
}

/// A flag as messages call it: `-m` for `-m,--memory`.
std::string shown_name(const std::string& names) { return names.substr(0, names.find(',')); }

/// True when 'warpmer convert' writes what is called so.
bool is_of_convert(const std::string& output) {
  const auto format = formats::format_of_path(output);
  if (!format || *format == formats::Format::wmi) return false;
  return formats::limits_of(*format).is_text || !formats::is_compressed_name(output);
}

/// Returns the bytes of all inputs on disk; 0 when one is no plain file.
std::uint64_t known_bytes(const std::vector<std::string>& inputs) {
  std::uint64_t bytes = 0;
  for (const std::string& input : inputs) {
    std::error_code failed;
    if (input == "-" || !std::filesystem::is_regular_file(input, failed)) return 0;
    bytes += std::filesystem::file_size(input, failed);
    if (failed) return 0;
  }
  return bytes;
}

}  // namespace

std::uint64_t parse_memory(const std::string& name, const std::string& text) {
  const std::optional<std::uint64_t> bytes = parse_size(text);
  if (!bytes) throw UsageError(fmt::format("{} must be a size such as 16G or 512M, not '{}'", name, text));
  if (*bytes < kLeastMemoryBytes) {
    const bool lacks_unit = *bytes > 0 && whole_number(text);
    throw UsageError(fmt::format("{} {} means {} bytes; give {}", name, text, *bytes,
                                 lacks_unit ? fmt::format("a unit, for example {}G", text)
                                            : std::string("a larger size, for example 512M")));
  }
  return *bytes;
}

CLI::Option* add_whole_number(CLI::App& app, const std::string& names, std::uint64_t smallest,
                              std::uint64_t largest, std::function<void(std::uint64_t)> store,
                              const std::string& help) {
  const auto parse = [=, shown = shown_name(names), store = std::move(store)](const std::string& text) {
    const std::optional<std::uint64_t> value = whole_number(text);
    if (!value || *value < smallest || *value > largest)
      throw UsageError(fmt::format("{} must be {}, not '{}'", shown, range_text(smallest, largest), text));
    store(*value);
  };
  return app.add_option_function<std::string>(names, parse, help)->type_name("N");
}

void add_length_flag(CLI::App& app, std::uint32_t& k) {
  add_whole_number(app, "-k", 1, kMaxK, k,
                   fmt::format("Length of the k-mers, 1 to {}. Default: {}.", kMaxK, k));
}

CLI::Option* add_fraction(CLI::App& app, const std::string& names, std::optional<double>& fraction,
                          const std::string& help) {
  const auto parse = [=, &fraction](const std::string& text) {
    const std::optional<double> value = parse_decimal(text);
    if (!value || *value < 0 || *value > 1)
      throw UsageError(fmt::format("{} must be a number from 0 to 1, such as 0.5, not '{}'", names, text));
    fraction = *value;
  };
  return app.add_option_function<std::string>(names, parse, help)->type_name("X");
}

CLI::Option* add_size_flag(CLI::App& app, const std::string& names, std::uint64_t& bytes,
                           const std::string& help) {
  const auto parse = [shown = shown_name(names), &bytes](const std::string& text) {
    bytes = parse_memory(shown, text);
  };
  return app.add_option_function<std::string>(names, parse, help)->type_name("SIZE");
}

CLI::Option* add_threads_flag(CLI::App& app, unsigned& threads) {
  return add_whole_number(
      app, "-t,--threads", 1, kMaxThreads, threads,
      "Threads to use. Default: the cores this process may use, by its affinity, its cgroup and Slurm.");
}

CLI::Option* add_memory_flag(CLI::App& app, std::uint64_t& memory_bytes) {
  return add_size_flag(
      app, "-m,--memory", memory_bytes,
      "Memory the whole process may use, for example 16G or 512M (binary units); a hard "
      "cap. Default: nine tenths of what the cgroup, Slurm, ulimit and the machine allow and have free.");
}

void add_resource_flags(CLI::App& app, host::Resources& resources) {
  add_threads_flag(app, resources.threads);
  add_memory_flag(app, resources.memory_bytes);
}

void add_tmp_directory_flag(CLI::App& app, std::string& directory) {
  app.add_option(
         "--tmp-dir", directory,
         "Where k-mers go that -m leaves no memory for, in a file without a name, of which nothing is left "
         "however the process ends. A directory that is not there is made in one that is, and removed again "
         "unless other jobs use it then. Default: "
         "$TMPDIR, else the directory of the output, or /var/tmp where that is standard output or a pipe.")
      ->type_name("DIR");
}

void add_device_flags(CLI::App& app, DeviceFlags& flags, const std::string& device_help) {
  app.add_option("--device", flags.device, device_help)->type_name("DEVICE");
  add_size_flag(app, "--device-memory", flags.memory_bytes,
                "Memory to hold on the GPU, for example 40G; a hard cap. Default: what is free there.");
}

jobs::DeviceChoice choose_device(const DeviceFlags& flags, const std::vector<std::string>& inputs,
                                 const std::function<host::GpuSurvey()>& survey) {
  jobs::DeviceChoice choice = jobs::choose_device(flags.device, known_bytes(inputs), survey);
  choice.memory_bytes = flags.memory_bytes;
  return choice;
}

jobs::DeviceChoice choose_device(const DeviceFlags& flags, const std::vector<std::string>& inputs,
                                 mpi::ProcessGroup& ranks) {
  if (flags.device != "auto" || !ranks.are_several()) return choose_device(flags, inputs);
  jobs::DeviceChoice choice = jobs::choose_device_together(ranks, known_bytes(inputs));
  choice.memory_bytes = flags.memory_bytes;
  return choice;
}

unsigned threads_or_default(unsigned threads) { return host::threads_or_all(threads); }

host::Resources resources_or_default(const host::Resources& resources) {
  host::warn_above_grant(resources.memory_bytes);
  // Unasked, half: the page cache that holds the index wants its share.
  return {threads_or_default(resources.threads),
          resources.memory_bytes > 0 ? resources.memory_bytes : host::usable_memory_bytes() / 2, true};
}

CLI::Option* add_text_output_flag(CLI::App& app, std::string& path) {
  path = "-";
  return app
      .add_option("-o,--output", path,
                  "Write to FILE instead of standard output, compressed (BGZF) when its name ends in .gz; it "
                  "gets its name when it is complete.")
      ->type_name("FILE");
}

CLI::Option* add_json_flag(CLI::App& app, bool& json) {
  return app.add_flag("--json", json, "Print one JSON object instead of text.");
}

void check_count_range(const backend::CountBounds& range) {
  if (range.min > range.max) {
    throw UsageError(fmt::format("--min-count {} is larger than --max-count {}: nothing would be kept",
                                 range.min, range.max));
  }
}

void add_count_range_flags(CLI::App& app, backend::CountBounds& range, const CountRangeText& text) {
  add_whole_number(app, "--min-count", text.least, UINT64_MAX, range.min,
                   fmt::format("{} that occur at least N times{}. Default: 1.", text.what, text.where));
  add_whole_number(app, "--max-count", text.least, UINT64_MAX, range.max,
                   fmt::format("{} that occur at most N times{}. Default: no limit.", text.what, text.where));
}

void add_reading_flags(CLI::App& app, io::ReadingOptions& reading) {
  app.add_flag(
      "--lenient", reading.lenient,
      "Let a character that is no nucleotide code break k-mers, as N does, instead of refusing the input.");
  add_whole_number(
      app, "--min-base-quality", 0, kMaxBaseQuality,
      [&reading](std::uint64_t value) {
        reading.min_base_quality = static_cast<int>(value);
        reading.qualities = std::make_shared<io::QualityWatch>();
      },
      "Treat bases of Phred quality below N as unknown: they break k-mers.");
  app.add_option_function<std::string>(
         "--reference",
         [&reading](const std::string& path) {
           if (!path.empty()) io::list_inputs({path});  // before a job begins, also where no input is CRAM
           reading.reference = path;
         },
         "FASTA of the reference that CRAM inputs were aligned to, plain or BGZF. Its index, "
         "FILE.fai, is made beside it if it is not there.")
      ->type_name("FILE");
}

CLI::Option* add_index_argument(CLI::App& app, std::string& path) {
  return app.add_option("INDEX", path, "Index written by 'warpmer count'; - for standard input.")
      ->required()
      ->type_name("FILE");
}

void add_index_output_flag(CLI::App& app, std::string& output) {
  app.add_option("-o,--output", output,
                 "The index to write; - for standard output. It gets its name when it is complete.")
      ->type_name("FILE");
}

void check_index_output(const std::string& output, formats::Content kind, bool may_be_terminal) {
  if (output.empty()) throw UsageError("where to write the index? Add -o FILE, or -o - for standard output");
  const bool can_convert = kind == formats::Content::index && is_of_convert(output);
  formats::check_ending(output, {kind}, can_convert ? "let 'warpmer convert' write other formats" : "");
  if (output == "-" && !may_be_terminal && isatty(STDOUT_FILENO) != 0)
    throw UsageError("an index is binary and standard output is a terminal; use -o FILE, or a pipe");
}

void add_progress_flag(CLI::App& app, bool& progress) {
  app.add_flag("--progress", progress, "Show progress on stderr even where that is no terminal.");
}

void add_question_flags(CLI::App& app, Questions& questions, const std::string& reads_help) {
  app.add_option(
         "--kmers", questions.kmer_file,
         "Look up the k-mers of FILE, one a line, the first word of each; lines that begin with # are "
         "skipped; - for standard input.")
      ->type_name("FILE");
  app.add_option("--reads", questions.reads, reads_help)->type_name("FILE");
}

void Questions::take_server() {
  if (server.empty() || index.empty()) return;
  check_no_index(server, index);
  kmers.insert(kmers.begin(), std::move(index));
  index.clear();
}

void Questions::check(const io::ReadingOptions& reading) const {
  const int kinds = static_cast<int>(!kmers.empty()) + static_cast<int>(!kmer_file.empty()) +
                    static_cast<int>(!reads.empty());
  if (kinds == 0)
    throw UsageError("nothing to look up: give k-mers as arguments, --kmers FILE or --reads FILE");
  if (kinds > 1) throw UsageError("k-mers as arguments, --kmers and --reads exclude each other");
  for (const std::string& kmer : kmers) {
    std::error_code ignored;
    if (kmer.find_first_of("./") == std::string::npos || !std::filesystem::exists(kmer, ignored)) continue;
    throw UsageError(fmt::format(
        "'{}' is a file, and no k-mer; add --reads before reads, or --kmers before a list", kmer));
  }
  if (reads.empty() && reading.min_base_quality) throw UsageError("--min-base-quality needs --reads");
  if (reads.empty() && !reading.reference.empty()) throw UsageError("--reference needs --reads");
  check_read_once();  // a list from standard input among them
}

void Questions::expand_lists() {
  cli::expand_lists(reads, {output});
  check_read_once();  // what lists name
}

void Questions::check_read_once() const {
  check_standard_input({{"as the index", {index}}, {"for --kmers", {kmer_file}}, {"for --reads", reads}});
}

void check_output(const std::string& output, std::vector<std::string> inputs) {
  for (std::string& input : inputs) {
    if (input.starts_with('@')) input.erase(0, 1);
  }
  jobs::check_is_no_input(output, inputs);
}

void check_standard_input(const std::vector<NamedInputs>& inputs) {
  const auto is_standard_input = [](std::string_view name) {
    if (name.starts_with('@')) name.remove_prefix(1);
    return file::descriptor_in_path(name) == STDIN_FILENO;
  };
  std::vector<std::string_view> roles;
  for (const NamedInputs& named : inputs)
    roles.insert(roles.end(), std::ranges::count_if(named.paths, is_standard_input), named.role);
  if (roles.size() < 2) return;
  throw UsageError(fmt::format("standard input is named twice{}, but can be read only once; name it once",
                               roles[0] == roles[1] ? "" : fmt::format(", {} and {}", roles[0], roles[1])));
}

std::uint64_t most_bytes_of_names(std::uint64_t memory_bytes) {
  constexpr std::uint64_t kWithoutCap = std::uint64_t{4} << 30;
  constexpr std::uint64_t kShare = 4;
  return memory_bytes == 0 ? kWithoutCap : host::memory_left(memory_bytes) / kShare;
}

void expand_lists(std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                  std::uint64_t memory_bytes) {
  check_standard_input({{"as an input", inputs}});
  for (const std::string& output : outputs) check_output(output, inputs);
  inputs = io::expand_lists(inputs, most_bytes_of_names(memory_bytes));
  for (const std::string& output : outputs) jobs::check_is_no_input(output, inputs);
  io::warn_of_repeats(inputs);
}

}  // namespace warpmer::cli
