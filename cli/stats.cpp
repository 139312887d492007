/// `warpmer stats`: the numbers of an index.

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

struct StatsOptions {
  std::string index;
  std::string output;
  bool json = false;
};

Json stats_json(const index::IndexFile& index) {
  Json json = {{"k", index.params().k}, {"strand", strand_name(index.params().canonical)}};
  json.update(totals_json(index.totals()));
  json["file_bytes"] = index.file_bytes();
  json["bytes_per_kmer"] = bytes_per_kmer(index);
  return json;
}

std::string filter_text(const index::Totals& totals) {
  std::string text = fmt::format("at least {}", totals.min_count);
  return totals.max_count == UINT64_MAX ? text : text + fmt::format(", at most {}", totals.max_count);
}

void print_stats(const index::IndexFile& index, TextOutput& output) {
  const index::Totals& totals = index.totals();
  output.print("k                   {}\n", index.params().k);
  output.print("strand              {}\n", strand_name(index.params().canonical));
  output.print("sequences           {}\n", totals.records);
  output.print("bases               {}\n", totals.bases);
  output.print("k-mers counted      {}\n", totals.counted_kmers);
  output.print("  distinct          {}\n", totals.counted_distinct);
  output.print("  unique            {}\n", totals.counted_unique);
  output.print("counts kept         {}\n", filter_text(totals));
  output.print("k-mers stored       {}\n", totals.stored_kmers);
  output.print("  distinct          {}\n", totals.stored_distinct);
  output.print("largest count       {}\n", totals.largest_count);
  output.print("file bytes          {}\n", index.file_bytes());
  output.print("bytes per k-mer     {:.2f}\n", bytes_per_kmer(index));
}

int run_stats(const StatsOptions& options) {
  check_output(options.output, {options.index});
  const index::IndexFile index(options.index);
  TextOutput output(options.output);
  if (options.json) {
    output.write(json_text(stats_json(index)));
  } else {
    print_stats(index, output);
  }
  output.finish();
  return kDone;
}

}  // namespace

void add_stats_command(Application& application) {
  auto options = std::make_shared<StatsOptions>();
  CLI::App& command = application.add_command("stats",
                                              "Print how many k-mers an index holds.\n"
                                              "Counted: every occurrence in the input, before --min-count "
                                              "and --max-count of 'warpmer count'. Stored: what "
                                              "these filters kept. Unique: k-mers that occur exactly once.",
                                              R"(Examples:
  warpmer stats sample.wmi
  warpmer stats --json sample.wmi
)");
  add_json_flag(command, options->json);
  add_text_output_flag(command, options->output);
  add_index_argument(command, options->index);
  application.on_run(command, [options] { return run_stats(*options); });
}

}  // namespace warpmer::cli
