#pragma once
/// What a command reads and writes, as its options name it: what is checked for all commands alike.

namespace CLI {
class App;
}

namespace warpmer::cli {

/// Adds `--force`, if the command has outputs.
void add_force_flag(CLI::App& command);

/// Looks at all files that the parsed options of a command name, before any work is done. UsageError when two
/// outputs are one file, when an output, by whichever name, is an input (standard streams and KMC databases
/// included), and, unless forced, when it would replace sequence data. ResourceError when an output cannot be
/// made where it should be (file/output_path.h). What lists name is not known yet: `expand_lists` looks at
/// that.
void check_files(const CLI::App& command);

/// Gives all outputs of the command their names, all or none (file/output_group.h), for a command that has
/// something to say about them afterwards. ResourceError.
void name_outputs();

}  // namespace warpmer::cli
