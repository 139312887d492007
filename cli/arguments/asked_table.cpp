#include "cli/arguments/asked_table.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "cli/framework/printable.h"
#include "host/gpus.h"
#include "index/early_checks.h"
#include "index/index_start.h"
#include "serve/remote_table.h"

namespace warpmer::cli {

void add_server_flag(CLI::App& app, std::string& server, CLI::Option* index) {
  app.add_option_function<std::string>(
         "--server",
         [&server, index](const std::string& path) {
           server = path;
           if (path.empty()) throw UsageError("--server needs the path of a socket");
           index->required(false);
         },
         "Ask the server whose socket this is ('warpmer serve') instead of an index, which is not named "
         "then.")
      ->type_name("SOCKET")
      ->trigger_on_parse();  // or the last of the files behind --reads would be taken for the index
}

void add_server_flag(CLI::App& app, std::string& server) {
  app.add_option("--server", server, "The server, by its socket ('warpmer serve').")
      ->required()
      ->type_name("SOCKET");
}

void check_only_server(const std::string& server, const std::vector<std::string>& files) {
  if (files.empty()) return;
  throw UsageError(fmt::format("--server asks the server at {}, and no file; leave out {}, or --server",
                               server, printable(files.front())));
}

void check_no_index(const std::string& server, const std::string& first) {
  if (!first.ends_with(".wmi") && !index::is_index_file(first)) return;
  throw UsageError(fmt::format("--server asks the server at {}, and no index; leave out {}, or --server",
                               server, printable(first)));
}

void check_server_device(const std::string& server, const std::string& device) {
  if (!server.empty() && device != "auto")
    throw UsageError("a server has its own device; leave out --device, or --server");
}

AskedTable::AskedTable(const std::string& index, const std::string& server)
    : name_(server.empty() ? index : server) {
  if (server.empty()) {
    index_.emplace(index);
    kmers_ = {index_->params().k, index_->params().canonical};
  } else {
    table_ = std::make_unique<serve::RemoteTable>(server);
    kmers_ = table_->kmers();
  }
}

AskedTable::~AskedTable() = default;

jobs::DeviceChoice AskedTable::choose_device(const DeviceFlags& flags, const std::vector<std::string>& inputs,
                                             unsigned threads) const {
  if (!index_) return cli::choose_device(flags, inputs);
  std::optional<index::EarlyChecks> checks;  // until the driver has started and has its contexts
  return cli::choose_device(flags, inputs, [&] {
    checks.emplace(*index_, index::EarlyChecks::useful_threads(*index_, threads));
    return host::survey_gpus();
  });
}

const backend::Lookup& AskedTable::lookup(const backend::LookupOptions& options, jobs::DeviceChoice& device) {
  if (table_) return table_->lookup(options.lenient);
  lookup_ = jobs::make_lookup(*index_, options, device);
  return *lookup_;
}

}  // namespace warpmer::cli
