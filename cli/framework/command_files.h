#pragma once
/// The files that a command reads and writes, as its options name them, and the checks of them that are the
/// same for all commands.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace warpmer::cli {

/// Adds `--force`, if the command has outputs.
void add_force_flag(CLI::App& command);

/// Checks all files that the parsed options of a command name, before any work is done. Throws a UsageError
/// when two outputs are one file, when an output, by whichever name, is an input (standard streams and KMC
/// databases included), and, unless forced, when it would replace sequence data. Throws a ResourceError when
/// an output cannot be made at its place (file/output/output_path.h). The files that lists name are not known
/// yet: `expand_lists` checks them.
void check_files(const CLI::App& command);

/// Says whether a command may replace sequence data; a program by another's name has no `--force`.
enum class Force : std::uint8_t { no_flag, not_given, given };
Force force_of(const CLI::App& command);

/// Does the same for outputs that a command names itself, and its inputs; lists have been expanded.
void check_files(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs,
                 Force force = Force::no_flag);

/// Throws a UsageError, which begins with `what` ("a report opens an index"), when one of these files is a
/// pipe or standard input, and so cannot be read more than once.
void check_can_be_read_again(const std::vector<std::string>& files, std::string_view what);

/// Gives all outputs of the command their names, all or none (file/output/output_group.h), for a command that
/// has something to say about them afterwards. Throws a ResourceError.
void name_outputs();

}  // namespace warpmer::cli
