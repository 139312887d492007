/// `warpmer info`: what an index file of either kind says about itself, without reading its k-mers.

#include <memory>
#include <string>
#include <vector>

#include "backend/index_params.h"
#include "cli/arguments/asked_table.h"
#include "cli/arguments/flags.h"
#include "cli/arguments/index_inputs.h"
#include "cli/framework/application.h"
#include "cli/framework/commands.h"
#include "cli/framework/exit_status.h"
#include "cli/output/report.h"
#include "index/index_file.h"
#include "index/index_start.h"
#include "index/positions/position_file.h"
#include "serve/remote_table.h"

namespace warpmer::cli {
namespace {

Json info_json(const index::IndexFile& index) {
  return {{"file", index.path()},
          {"file_bytes", index.file_bytes()},
          {"content_bytes", index.content_bytes()},
          {"content_checksum", checksum_text(index.content_checksum())},
          {"params", params_json(index.params())},
          {"totals", totals_json(index.totals())},
          {"provenance", provenance_json(index.provenance())}};
}

void print_origin(const index::Provenance& provenance, TextOutput& output) {
  print_field(output, "written by", "warpmer " + provenance.tool_version);
  print_field(output, "command line", provenance.command_line);
  for (const std::string& input : provenance.inputs) print_field(output, "input", input);
}

void print_info(const index::IndexFile& index, TextOutput& output) {
  const index::IndexParams& params = index.params();
  print_field(output, "file", index.path());
  print_field(output, "file bytes", index.file_bytes());
  print_field(output, "content checksum", checksum_text(index.content_checksum()));
  print_field(output, "k", params.k);
  print_field(output, "strand", strand_name(params.canonical));
  print_field(output, "minimizer length", params.minimizer_length);
  print_field(output, "shards", params.shards());
  print_field(output, "distinct k-mers", index.totals().stored_distinct);
  print_field(output, "k-mers", index.totals().stored_kmers);
  print_origin(index.provenance(), output);
}

Json info_json(const index::PositionFile& index) {
  const index::PositionTotals& totals = index.totals();
  return {{"file", index.path()},
          {"file_bytes", index.file_bytes()},
          {"content_checksum", checksum_text(index.content_checksum())},
          {"params",
           {{"k", index.params().k},
            {"strand", strand_name(index.params().canonical)},
            {"bins", index.params().bins()},
            {"location_bits", index.params().location_bits},
            {"hash_version", index.params().hash_version}}},
          {"totals",
           {{"sequences", totals.sequences},
            {"bases", totals.bases},
            {"positions", totals.occurrences},
            {"distinct", totals.distinct},
            {"unique", totals.unique},
            {"most_positions", totals.most_occurrences}}},
          {"provenance", provenance_json(index.provenance())}};
}

void print_info(const index::PositionFile& index, TextOutput& output) {
  const index::PositionTotals& totals = index.totals();
  print_field(output, "file", index.path());
  print_field(output, "file bytes", index.file_bytes());
  print_field(output, "content checksum", checksum_text(index.content_checksum()));
  print_field(output, "k", index.params().k);
  print_field(output, "strand", strand_name(index.params().canonical));
  print_field(output, "bins", index.params().bins());
  print_field(output, "sequences", totals.sequences);
  print_field(output, "bases", totals.bases);
  print_field(output, "positions", totals.occurrences);
  print_field(output, "distinct k-mers", totals.distinct);
  print_field(output, "  unique", totals.unique);
  print_field(output, "most positions", totals.most_occurrences);
  print_origin(index.provenance(), output);
}

struct InfoOptions {
  ReportFlags report;
  std::string server;  ///< instead of indexes
  std::vector<std::string> indexes;
};

/// Calls `use` with an index of either kind.
template <class Use>
void with_index(const std::string& path, Use&& use) {
  if (index::is_position_file(path)) {
    use(index::PositionFile(path));
  } else {
    use(index::IndexFile(path));
  }
}

Json info_json(const serve::RemoteTable& table, const std::string& server) {
  const auto [k, canonical] = table.kmers();
  const backend::LiveTotals totals = table.totals();
  const auto known = [&](std::uint64_t number) { return totals.are_known ? Json(number) : Json(nullptr); };
  return {{"server", server},
          {"params", params_json(backend::params_for(k, canonical))},
          {"totals", {{"sequences", known(totals.records)}, {"bases", known(totals.bases)}}},
          {"memory_bytes", table.memory_bytes()},
          {"table", table.describe()}};
}

void print_info(const serve::RemoteTable& table, const std::string& server, TextOutput& output) {
  const auto [k, canonical] = table.kmers();
  const backend::LiveTotals totals = table.totals();
  const auto known = [&](std::uint64_t number) {
    return totals.are_known ? std::to_string(number) : std::string("unknown");
  };
  print_field(output, "server", server);
  print_field(output, "k", k);
  print_field(output, "strand", strand_name(canonical));
  print_field(output, "sequences", known(totals.records));
  print_field(output, "bases", known(totals.bases));
  print_field(output, "memory bytes", table.memory_bytes());
  print_field(output, "table", table.describe());
}

int print_of_server(const InfoOptions& options) {
  check_only_server(options.server, options.indexes);
  const serve::RemoteTable table(options.server);
  write_report(
      options.report, [&] { return info_json(table, options.server); },
      [&](TextOutput& output) { print_info(table, options.server, output); });
  return kDone;
}

int run_info(InfoOptions options) {
  check_ending(options.report);
  if (!options.server.empty()) return print_of_server(options);
  expand_index_lists(options.indexes, {options.report.output});
  TextOutput output(options.report.output);
  Json all = Json::array();
  for (const std::string& path : options.indexes) {
    with_index(path, [&](const auto& index) {
      if (options.report.json) {
        all.push_back(info_json(index));
      } else {
        if (&path != options.indexes.data()) output.write("\n");
        print_info(index, output);
      }
    });
  }
  if (options.report.json) output.write(json_text(all.size() == 1 ? all.front() : all));
  output.finish();
  return kDone;
}

}  // namespace

void add_info_command(Application& application) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App& command = application.add_command(
      "info",
      "Print what an index is and how it came to be.\n"
      "Answers at once, whatever the size of the file. Two indexes with the same content checksum hold the "
      "same k-mers and counts, or k-mers and positions, however they were computed. The files themselves may "
      "differ: they hold the command line and the names of the inputs.",
      R"(Of several indexes:
  One after the other; with --json an array of objects.

Examples:
  warpmer info sample.wmi
  warpmer info --json sample.wmi
  warpmer info genome.wmp
  warpmer info --json *.wmi
  warpmer info --server run.sock
)");
  add_report_flags(command, options->report);
  CLI::Option* const indexes =
      command
          .add_option(
              "INDEX", options->indexes,
              "Indexes written by 'warpmer count' or 'warpmer positions'; @LIST for a file that names one on "
              "each line, - for standard input, for the former.")
          ->required()
          ->type_name("FILE");
  add_server_flag(command, options->server, indexes);
  application.on_run(command, [options] { return run_info(*options); });
}

}  // namespace warpmer::cli
