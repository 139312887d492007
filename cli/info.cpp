/// `warpmer info`: what an index file says about itself, without reading its k-mers.

#include <string>

#include "cli/commands.h"
#include "cli/report.h"
#include "index/index_file.h"

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

void print_info(const index::IndexFile& index, TextOutput& output) {
  const index::IndexParams& params = index.params();
  const index::Provenance& provenance = index.provenance();
  print_field(output, "file", index.path());
  print_field(output, "file bytes", index.file_bytes());
  print_field(output, "content checksum", checksum_text(index.content_checksum()));
  print_field(output, "k", params.k);
  print_field(output, "strand", strand_name(params.canonical));
  print_field(output, "minimizer length", params.minimizer_length);
  print_field(output, "shards", params.shards());
  print_field(output, "distinct k-mers", index.totals().stored_distinct);
  print_field(output, "k-mers", index.totals().stored_kmers);
  print_field(output, "written by", "warpmer " + provenance.tool_version);
  print_field(output, "command line", provenance.command_line);
  for (const std::string& input : provenance.inputs) {
    print_field(output, "input", input);
  }
}

}  // namespace

void add_info_command(Application& application) {
  add_index_report_command(application, "info",
                           "Print what an index is and how it came to be.\n"
                           "Answers at once, whatever the size of the file. Two indexes "
                           "with the same content checksum hold the same "
                           "k-mers and counts, however they were computed.",
                           R"(Examples:
  warpmer info sample.wmi
  warpmer info --json sample.wmi
)",
                           info_json, print_info);
}

}  // namespace warpmer::cli
