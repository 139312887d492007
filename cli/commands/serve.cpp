/// `warpmer serve`: holds a live table, and answers other commands until it is told to stop.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "backend/index_params.h"
#include "backend/live/live_table.h"
#include "base/error.h"
#include "cli/arguments/flags.h"
#include "cli/arguments/quantity.h"
#include "cli/framework/application.h"
#include "cli/framework/command_files.h"
#include "cli/framework/commands.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/messages.h"
#include "cli/framework/process.h"
#include "cli/output/progress.h"
#include "host/limits.h"
#include "index/index_file.h"
#include "jobs/changeable_index.h"
#include "jobs/device_choice.h"
#include "jobs/live_job.h"
#include "serve/server.h"

namespace warpmer::cli {
namespace {

struct ServeCommand {
  std::string socket;
  std::string load;
  std::string save;
  std::optional<std::uint32_t> k;
  bool forward = false;
  DeviceFlags device{.device = "cpu"};
  std::string table = "auto";
  host::Resources resources;
  index::Provenance provenance;
};

backend::LiveScheme scheme_of(const std::string& name) {
  if (name == "auto") return backend::LiveScheme::automatic;
  if (name == "warpdrive") return backend::LiveScheme::warpdrive;
  if (name == "slab") return backend::LiveScheme::slab;
  if (name == "starfish") return backend::LiveScheme::starfish;
  throw UsageError(fmt::format("--table must be auto, warpdrive, slab or starfish, not '{}'", name));
}

void check(const ServeCommand& command) {
  serve::check_socket_path(command.socket);
  if (!command.save.empty()) check_index_output(command.save);
  const auto full_path = [](const std::string& path) {
    return std::filesystem::absolute(path).lexically_normal();
  };
  if (!command.save.empty() && full_path(command.save) == full_path(command.socket)) {
    throw UsageError(
        fmt::format("--save and --socket both name {}; give the index another name", command.save));
  }
  check_standard_input({{"for --load", {command.load}}});
}

/// Returns where the table is. It is on a CPU unless a GPU is asked for: there it takes less memory.
jobs::DeviceChoice device_of(const ServeCommand& command) {
  DeviceFlags flags = command.device;
  if (flags.device == "auto") flags.device = "cpu";
  jobs::DeviceChoice device = choose_device(flags, {});
  if (device.cpu_devices > 1) {
    throw UsageError(
        fmt::format("--device {}: the table is on the CPU or on GPUs; use cpu or cuda", flags.device));
  }
  if (device.gpus.empty() && scheme_of(command.table) == backend::LiveScheme::starfish)
    throw UsageError("--table starfish keeps what a GPU has no room for in host memory; add --device cuda");
  return device;
}

/// Returns what k-mers the table has: those of the index, if there is one.
KmerParams kmers_of(const ServeCommand& command, const index::IndexFile* base) {
  KmerParams kmers{.canonical = !command.forward};
  if (command.k) kmers.k = *command.k;
  if (base == nullptr) return kmers;
  const index::IndexParams& params = base->params();
  if (command.k && *command.k != params.k) {
    throw UsageError(fmt::format("-k {} is not that of {}, which has k-mers of {}; leave it out", *command.k,
                                 base->path(), params.k));
  }
  if (command.forward && params.canonical)
    throw UsageError(fmt::format("--forward is not how {} was counted; leave it out", base->path()));
  return {params.k, params.canonical};
}

/// Memory of a request and its answer, at most.
constexpr std::uint64_t kConnectionBytes = std::uint64_t{16} << 20;
/// Connections that there may be whatever the memory is: their requests wait for it.
constexpr std::uint64_t kFewConnections = 64;
constexpr std::uint64_t kManyConnections = 1024;
/// A share of a cap for connections.
constexpr std::uint64_t kConnectionShare = 8;
/// Reserve for what is accounted for nowhere.
constexpr std::uint64_t kSlackBytes = std::uint64_t{24} << 20;

/// Returns what the table may hold of a cap on the whole process.
std::uint64_t table_bytes(const host::Resources& resources) {
  const std::uint64_t cap = resources.memory_bytes, spoken_for = host::resident_bytes() + kSlackBytes;
  host::check_memory(cap, spoken_for * kConnectionShare / (kConnectionShare - 1), resources.threads);
  return cap - cap / kConnectionShare - spoken_for;
}

unsigned most_connections(std::uint64_t cap) {
  return static_cast<unsigned>(
      std::clamp(cap / kConnectionShare / kConnectionBytes, kFewConnections, kManyConnections));
}

/// Answers until `stop` says so.
void answer(const ServeCommand& command, const host::Resources& resources, const KmerParams& kmers,
            const index::IndexFile* base, backend::LiveTable& table, const StopSignals& stop) {
  const std::string read_only = base == nullptr ? "" : jobs::why_unchangeable(*base);
  if (!read_only.empty() && !command.save.empty())
    throw InputError(fmt::format("{}: there is nothing that --save could write", read_only));
  // Else the allocator keeps for each thread what large requests took: with -m 120M, 60 idle clients held 290
  // MB.
  host::return_freed_memory_at_once();
  serve::Server server(table, {.path = command.socket,
                               .kmers = kmers,
                               .threads = resources.threads,
                               .read_only = read_only,
                               .frozen = read_only.empty() ? nullptr : base,
                               .most_clients = most_connections(resources.memory_bytes),
                               .request_bytes = resources.memory_bytes / kConnectionShare});
  print_last_line(fmt::format("serves {}-mers at {} with {}, {}: {}{}", kmers.k, command.socket,
                              counted(resources.threads, "thread"), format_bytes(resources.memory_bytes),
                              table.describe(), read_only.empty() ? "" : "; read only"));
  server.run(stop.descriptor());
}

void save(const ServeCommand& command, const host::Resources& resources, const KmerParams& kmers,
          backend::LiveTable& table) {
  const auto [report, seconds] = run_with_meter(ProgressStyle::none, [&](backend::JobProgress& progress) {
    return jobs::write_live(table, {command.save, kmers, resources, command.provenance}, progress);
  });
  name_outputs();  // while signals are held back
  print_last_line(fmt::format("{}, {:.1f} s, {} {}", counted(report.totals.stored_distinct, "distinct k-mer"),
                              seconds, shown_output(command.save), format_bytes(report.index_bytes)));
}

int run_serve(ServeCommand command) {
  check(command);
  const backend::LiveScheme scheme = scheme_of(command.table);
  std::optional<index::IndexFile> base;
  if (!command.load.empty()) {
    base.emplace(command.load);
    backend::check_params(*base);
    command.provenance.inputs = {command.load};
  }
  const KmerParams kmers = kmers_of(command, base ? &*base : nullptr);
  const host::Resources resources = host::settled(command.resources);
  const auto table = jobs::make_live_table({.kmers = kmers,
                                            .scheme = scheme,
                                            .threads = resources.threads,
                                            .memory_bytes = table_bytes(resources),
                                            .base = base ? &*base : nullptr},
                                           device_of(command));
  const StopSignals stop;  // also while it is saved
  answer(command, resources, kmers, base ? &*base : nullptr, *table, stop);
  if (!command.save.empty()) save(command, resources, kmers, *table);
  return kDone;
}

void declare_flags(CLI::App& app, ServeCommand& command) {
  app.add_option(
         "--socket", command.socket,
         "Where to answer: a Unix socket, which is made, and can be used by you alone. One that a server "
         "has left behind is replaced; nothing else is.")
      ->required()
      ->type_name("SOCKET");
  add_whole_number(app, "-k", 1, kMaxK, command.k,
                   fmt::format("Length of the k-mers, 1 to {}. Default: that of the index, else {}.", kMaxK,
                               KmerParams{}.k));
  app.add_flag(
      "--forward", command.forward,
      "Count k-mers as they are read. Default: as the index does, else a k-mer and its reverse complement "
      "are one, named by the lexicographically smaller of the two.");
  app.add_option(
         "--load", command.load,
         "Begin with what this index holds; without it the table is empty. It is read where it is, and must "
         "stay as it is. One that lacks k-mers (--min-count, --max-count, --only, intersect) can be asked, "
         "and not be added to.")
      ->type_name("FILE");
  app.add_option(
         "--save", command.save,
         "Write the table as an index when the server is told to stop: the one that counting the same "
         "reads would have made.")
      ->type_name("FILE");
  app.add_option(
         "--table", command.table,
         "The hash table for what is new. No count depends on it. starfish is for k-mers that are more "
         "than a GPU has room for: parts of the table take turns there, and the others wait in -m. "
         "Default: auto, which is warpdrive, and starfish from when a GPU has no room for more.")
      ->type_name("auto|warpdrive|slab|starfish");
  add_device_flags(
      app, command.device,
      "cpu, or cuda:N,M for the GPUs that 'warpmer devices' lists under these numbers, or cuda for all. On "
      "GPUs a k-mer takes 14 bytes, 23 for k above 32, and k is 13 or more; each has a part of the k-mers. "
      "Default: cpu, where k-mers that rest take 1.2 bytes each.");
  add_resource_flags(app, command.resources);
}

}  // namespace

void add_serve_command(Application& application) {
  auto command = std::make_shared<ServeCommand>();
  CLI::App& app = application.add_command(
      "serve",
      "Hold a table of k-mers that other commands ask and change.\n"
      "They name its socket by --server: 'query' and 'filter' look k-mers up, 'add' and 'remove' change "
      "counts, "
      "'histo', 'stats' and 'info' tell what it holds, 'save' writes it as an index. Any number of them may "
      "run at "
      "once: what one has been told is done is seen by whatever is asked afterwards. SIGTERM or SIGINT "
      "(Ctrl-C) stops the server: requests that it is working on are answered, others get an error; then it "
      "writes what --save asks for. A second SIGINT ends it at once.",
      R"(Examples:
  warpmer serve -k 31 --socket run.sock --save run.wmi
  warpmer serve --load contaminants.wmi --socket contaminants.sock -t 16 -m 40G
  warpmer add --server run.sock reads.fq.gz
  warpmer query --server run.sock ACGTTGCAACGTTGCAACGTTGCAACGTTGC
)");
  declare_flags(app, *command);
  command->provenance = application.provenance();
  application.on_run(app, [command] { return run_serve(*command); });
}

}  // namespace warpmer::cli
