#pragma once
/// The command `warpmer-bench starfish`.

namespace CLI {
class App;
}

namespace warpmer::bench {

/// Adds the subcommand; `status` becomes its exit status.
void add_starfish_command(CLI::App& app, int& status);

}  // namespace warpmer::bench
