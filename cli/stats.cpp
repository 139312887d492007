/// `warpmer stats`: the numbers of an index.

#include <string>

#include "cli/commands.h"
#include "cli/report.h"
#include "index/index_file.h"

namespace warpmer::cli {
namespace {

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
  print_field(output, "k", index.params().k);
  print_field(output, "strand", strand_name(index.params().canonical));
  print_field(output, "sequences", totals.records);
  print_field(output, "bases", totals.bases);
  print_field(output, "k-mers counted", totals.counted_kmers);
  print_field(output, "  distinct", totals.counted_distinct);
  print_field(output, "  unique", totals.counted_unique);
  print_field(output, "counts kept", filter_text(totals));
  print_field(output, "k-mers stored", totals.stored_kmers);
  print_field(output, "  distinct", totals.stored_distinct);
  print_field(output, "largest count", totals.largest_count);
  print_field(output, "file bytes", index.file_bytes());
  print_field(output, "bytes per k-mer", fmt::format("{:.2f}", bytes_per_kmer(index)));
}

}  // namespace

void add_stats_command(Application& application) {
  add_index_report_command(application, "stats",
                           "Print how many k-mers an index holds.\n"
                           "Counted: every occurrence in the input, before --min-count "
                           "and --max-count of 'warpmer count'. Stored: what "
                           "these filters kept. Unique: k-mers that occur exactly once.",
                           R"(Examples:
  warpmer stats sample.wmi
  warpmer stats --json sample.wmi
)",
                           stats_json, print_stats);
}

}  // namespace warpmer::cli
