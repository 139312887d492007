#pragma once
/// The programs of other projects to which warpmer answers by their names.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "host/limits.h"
#include "index/index_file.h"
#include "jobs/device_choice.h"

namespace warpmer::mpi {
class ProcessGroup;
}  // namespace warpmer::mpi

namespace warpmer::cli {

/// A call by another program's name.
struct NamedCall {
  std::string program;
  std::vector<std::string> words;  ///< that stand behind the name
  index::Provenance provenance;    ///< without inputs
};

struct Personality {
  std::string_view name;
  /// Does what the program of that name would; returns its exit status. Throws Error.
  int (*run)(const NamedCall& call);
};

/// Returns all of them.
std::span<const Personality> personalities();

/// Returns the call that a command line is, by the base name of its first word, or by its second word where
/// the first is any other; nothing if it is none.
std::optional<NamedCall> named_call(const std::vector<std::string>& command_line);

/// Runs a call; its outputs get their names at the end, all or none. Throws Error; UsageError where it was
/// started as several processes. Returns the exit status.
int run_named(const NamedCall& call, const mpi::ProcessGroup& ranks);

/// Returns the exit status that scripts know of these programs: 1 for all failures but a wrong command line,
/// which is 2.
int status_of_named(int status);

/// Returns what to add to an error or warning that speaks of -m or --tmp-dir, for these programs have other
/// options for memory and temporary files, or none; nothing for others.
std::string options_note(const NamedCall& call, ErrorKind kind, const std::string& message);

// --- What their command lines cannot say, and the environment does.

/// Returns the threads and the memory of a call: `threads` of its command line, or for 0 those of
/// WARPMER_THREADS; `memory_bytes` of its command line, if that is not more than what WARPMER_MEMORY says, or
/// than a job takes unasked. Where that is too little for all threads, they are fewer. UsageError for a
/// variable that is none.
host::Resources named_resources(std::uint64_t threads = 0, std::uint64_t memory_bytes = 0);

/// Returns the device that WARPMER_DEVICE says; unset, it is `auto`. Warns when a GPU is passed over.
jobs::DeviceChoice named_device(const std::vector<std::string>& inputs);

/// True for a call without words, and one with `--help` or `--version` among them.
bool asks_for_help(const NamedCall& call);
/// Prints a text for people on standard output.
void print_on_standard_output(const std::string& text);

}  // namespace warpmer::cli
