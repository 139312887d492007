#pragma once
/// The commands `warpmer-bench distributed`, `exchange` and `multisplit`.

namespace CLI {
class App;
}

namespace warpmer::bench {

/// Adds the subcommands; `status` becomes the exit status of the one that has run.
void add_distributed_commands(CLI::App& app, int& status);

}  // namespace warpmer::bench
