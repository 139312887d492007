#pragma once
/// The flags that several commands share, each declared here once, with its help text.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backend/count_bounds.h"
#include "formats/text/ending.h"
#include "host/limits.h"
#include "io/text/input_options.h"
#include "jobs/device_choice.h"

namespace warpmer::cli {

/// Adds a flag that takes a whole number; anything else, or one out of range, is a usage error that says so.
CLI::Option* add_whole_number(CLI::App& app, const std::string& names, std::uint64_t smallest,
                              std::uint64_t largest, std::function<void(std::uint64_t)> store,
                              const std::string& help);
/// Does the same for a number that `to` becomes.
template <class To>
CLI::Option* add_whole_number(CLI::App& app, const std::string& names, std::uint64_t smallest,
                              std::uint64_t largest, To& to, const std::string& help) {
  const auto store = [&to](std::uint64_t value) { to = static_cast<To>(value); };
  return add_whole_number(app, names, smallest, largest, std::function<void(std::uint64_t)>(store), help);
}

/// Adds `-k`.
void add_length_flag(CLI::App& app, std::uint32_t& k);

/// Adds a flag that takes a decimal number from 0 to 1; anything else is a usage error that says so.
CLI::Option* add_fraction(CLI::App& app, const std::string& names, std::optional<double>& fraction,
                          const std::string& help);

/// Returns the size that a flag, or a variable, of this name was given. UsageError unless it is one of at
/// least a megabyte.
std::uint64_t parse_memory(const std::string& name, const std::string& text);
/// Adds a flag that takes a size of at least a megabyte; anything else is a usage error that says so. `bytes`
/// is left alone unless the flag is given.
CLI::Option* add_size_flag(CLI::App& app, const std::string& names, std::uint64_t& bytes,
                           const std::string& help);

/// Adds `-t`; `threads` is left alone, at 0 for the default, unless the flag is given.
CLI::Option* add_threads_flag(CLI::App& app, unsigned& threads);
/// Adds `-m`; `memory_bytes` is left alone likewise.
CLI::Option* add_memory_flag(CLI::App& app, std::uint64_t& memory_bytes);
/// Adds both.
void add_resource_flags(CLI::App& app, host::Resources& resources);
/// Adds `--tmp-dir`; `directory` is left alone, empty for the default, unless the flag is given.
void add_tmp_directory_flag(CLI::App& app, std::string& directory);

/// The flags that say where a command runs.
struct DeviceFlags {
  std::string device = "auto";
  std::uint64_t memory_bytes = 0;
};

/// `--device`, with its help text, and `--device-memory`
void add_device_flags(CLI::App& app, DeviceFlags& flags, const std::string& device_help);
/// Returns the device to use for these inputs; `survey` as in jobs::choose_device.
jobs::DeviceChoice choose_device(const DeviceFlags& flags, const std::vector<std::string>& inputs,
                                 const std::function<host::GpuSurvey()>& survey = host::survey_gpus);
/// Does so for all ranks together.
jobs::DeviceChoice choose_device(const DeviceFlags& flags, const std::vector<std::string>& inputs,
                                 mpi::ProcessGroup& ranks);

/// Return what is given, or the default for 0; for commands that are no job.
unsigned threads_or_default(unsigned threads);
host::Resources resources_or_default(const host::Resources& resources);

/// Adds `-o` for text: it is "-" unless given.
CLI::Option* add_text_output_flag(CLI::App& app, std::string& path);
/// Adds `-o` for an index, without a default of its own.
void add_index_output_flag(CLI::App& app, std::string& output);
/// Throws a UsageError without an output for an index, when its name has the ending of something else, and
/// when it is standard output and that is a terminal, unless that passes bytes on.
void check_index_output(const std::string& output, formats::Content kind = formats::Content::index,
                        bool may_be_terminal = false);
/// `--progress`
void add_progress_flag(CLI::App& app, bool& progress);
/// `--json`
CLI::Option* add_json_flag(CLI::App& app, bool& json);

/// The help text of flags for a range of counts, and the least count that they take.
struct CountRangeText {
  std::string what = "Keep only k-mers";
  std::string where;  ///< for example " in the result"
  std::uint64_t least = 1;
};

/// `--min-count` and `--max-count`
void add_count_range_flags(CLI::App& app, backend::CountBounds& range, const CountRangeText& text = {});
/// Throws a UsageError when no count can lie in their range.
void check_count_range(const backend::CountBounds& range);

/// `--lenient`, `--min-base-quality`, `--reference`
void add_reading_flags(CLI::App& app, io::ReadingOptions& reading);

/// Adds the index to read, as first argument.
CLI::Option* add_index_argument(CLI::App& app, std::string& path);

/// The k-mers to look up in an index: k-mers as arguments, those of a file, or those of reads.
struct Questions {
  std::string index;
  std::string server;  ///< instead of an index
  std::vector<std::string> kmers;
  std::string kmer_file;
  std::vector<std::string> reads;
  std::string output;

  /// With a server, what stands first is no index, but a k-mer: to be called before all else.
  void take_server();
  /// Throws a UsageError unless there is exactly one kind, when standard input would be read twice, and for
  /// options that only reads heed.
  void check(const io::ReadingOptions& reading) const;
  /// Replaces lists of reads by the files that they name. Throws the UsageErrors of `check`, and one when the
  /// output is one of the files.
  void expand_lists();

 private:
  void check_read_once() const;
};
/// Adds `--kmers` and, with its help text, `--reads`.
void add_question_flags(CLI::App& app, Questions& questions, const std::string& reads_help);
/// Throws a UsageError when `output` is one of the files or pipes to be read (jobs/output_check.h); "@LIST"
/// stands for the list.
void check_output(const std::string& output, std::vector<std::string> inputs);
/// Files to be read, with their role in the command.
struct NamedInputs {
  std::string_view role;  ///< such as "as the index" or "for --append"
  std::vector<std::string> paths;
};
/// Throws a UsageError, which says the roles, when two of the files to be read are standard input; "@LIST"
/// stands for the list. If there are lists, it is called twice: before one is read, and for the files that
/// they name.
void check_standard_input(const std::vector<NamedInputs>& inputs);
/// Replaces lists by the files that they name (io/text/input_list.h), once for a command. Throws a UsageError
/// when one of the `outputs` is a list or one of the inputs, or when standard input is named twice. Warns of
/// repeats. Throws a ResourceError for more names than `memory_bytes`, a cap on the process, leaves room for.
void expand_lists(std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                  std::uint64_t memory_bytes = 0);
/// Returns the bytes that the names in lists of files may take of a cap on the process; for 0, which is no
/// cap, 4 GiB.
std::uint64_t most_bytes_of_names(std::uint64_t memory_bytes);

}  // namespace warpmer::cli
