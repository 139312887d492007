// warpmer-bench: experiments on parts of warpmer. A program of its own, so that users' warpmer stays small:
// the tables alone are hundreds of kernels that no command needs.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <new>

#include "base/error.h"
#include "distributed/command.h"
#include "starfish/command.h"
#include "tables/command.h"

namespace {

/// Returns the same exit statuses as warpmer (cli/framework/exit_status.h).
int exit_status_of(warpmer::ErrorKind kind) {
  switch (kind) {
    case warpmer::ErrorKind::usage:
      return 2;
    case warpmer::ErrorKind::input:
      return 3;
    case warpmer::ErrorKind::resource:
      return 4;
    case warpmer::ErrorKind::internal:
      break;
  }
  return 5;
}

int fail(int status, const char* message) {
  std::fprintf(stderr, "warpmer-bench: error: %s\n", message);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Experiments on parts of warpmer.", "warpmer-bench");
  app.require_subcommand(1);
  int status = 0;
  warpmer::bench::add_tables_command(app, status);
  warpmer::bench::add_distributed_commands(app, status);
  warpmer::bench::add_starfish_command(app, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);
    return fail(2, error.what());
  } catch (const warpmer::Error& error) {
    return fail(exit_status_of(error.kind()), error.what());
  } catch (const std::bad_alloc&) {
    return fail(4, "out of memory; a smaller --size needs less");
  }
  return status;
}
