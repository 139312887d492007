#pragma once
/// The command `warpmer-bench tables`.

namespace CLI {
class App;
}

namespace warpmer::bench {

/// Adds the subcommand; `status` becomes its exit status when it has run.
void add_tables_command(CLI::App& app, int& status);

}  // namespace warpmer::bench
