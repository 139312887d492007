/// `warpmer info`: what an index file says about itself, without reading its k-mers.

#include <memory>
#include <string>

#include "cli/application.h"
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/flags.h"
#include "cli/index_summary.h"
#include "cli/text_output.h"
#include "index/index_file.h"

namespace warpmer::cli {
namespace {

struct InfoOptions {
  std::string index;
  std::string output;
  bool json = false;
};

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
  output.print("file                {}\n", index.path());
  output.print("file bytes          {}\n", index.file_bytes());
  output.print("content checksum    {}\n", checksum_text(index.content_checksum()));
  output.print("k                   {}\n", params.k);
  output.print("strand              {}\n", strand_name(params.canonical));
  output.print("minimizer length    {}\n", params.minimizer_length);
  output.print("shards              {}\n", params.shards());
  output.print("distinct k-mers     {}\n", index.totals().stored_distinct);
  output.print("k-mers              {}\n", index.totals().stored_kmers);
  output.print("written by          warpmer {}\n", provenance.tool_version);
  output.print("command line        {}\n", provenance.command_line);
  for (const std::string& input : provenance.inputs) {
    output.print("input               {}\n", input);
  }
}

int run_info(const InfoOptions& options) {
  check_output(options.output, {options.index});
  const index::IndexFile index(options.index);
  TextOutput output(options.output);
  if (options.json) {
    output.write(json_text(info_json(index)));
  } else {
    print_info(index, output);
  }
  output.finish();
  return kDone;
}

}  // namespace

void add_info_command(Application& application) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App& command = application.add_command("info",
                                              "Print what an index is and how it came to be.\n"
                                              "Answers at once, whatever the size of the file. Two indexes "
                                              "with the same content checksum hold the same "
                                              "k-mers and counts, however they were computed.",
                                              R"(Examples:
  warpmer info sample.wmi
  warpmer info --json sample.wmi
)");
  add_json_flag(command, options->json);
  add_text_output_flag(command, options->output);
  add_index_argument(command, options->index);
  application.on_run(command, [options] { return run_info(*options); });
}

}  // namespace warpmer::cli
