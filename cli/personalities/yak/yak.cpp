/// `yak`: counts k-mers into its files, and prints their histograms.

#include "cli/personalities/yak/yak.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/framework/command_files.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/suggestion.h"
#include "cli/personalities/named_jobs.h"
#include "cli/personalities/option_table.h"
#include "cli/personalities/personality.h"
#include "cli/personalities/programs.h"
#include "formats/yak_file.h"
#include "jobs/count_job.h"
#include "jobs/export_job.h"
#include "jobs/temporary_index.h"

namespace warpmer::cli {
namespace {

struct YakCount {
  std::uint32_t k = formats::YakOrder<Key64>::kMostK;
  std::uint64_t threads = 0;
  std::uint64_t bloom_bits = 0;
  std::uint64_t prefix = formats::YakOrder<Key64>::kBinBits;
  std::string output;
  std::vector<std::string> inputs;
};

OptionTable count_options(YakCount& count) {
  using enum ValuePlace;
  return {"yak count",
          {taken("-k", free, "length of the k-mers; 31 unless given",
                 store_number(count.k, 1, formats::YakOrder<Key64>::kMostK)),
           taken("-b", free, "leave out k-mers that occur once; exactly, by no Bloom filter of so many bits",
                 store_number(count.bloom_bits)),
           taken("-o", free, "output; none unless given", store_text(count.output)),
           taken("-t", free, "threads; those that warpmer finds unless given",
                 store_number(count.threads, 1, UINT16_MAX)),
           taken("-p", free, "bits of a bin's number, at least 10; there are always 10 in the output",
                 store_number(count.prefix, formats::YakOrder<Key64>::kBinBits)),
           ignored("-K", free, "bases at a time"), ignored("-H", free, "hash functions of the Bloom filter")},
          true};
}

/// Counts one input into an index. Returns the resources that were used.
host::Resources count_input(const YakCount& count, const std::string& input,
                            const jobs::TemporaryIndex& index, const index::Provenance& provenance) {
  jobs::CountOptions job = named_count({.k = count.k}, {input}, named_resources(count.threads), provenance);
  job.kept.min = count.bloom_bits > 0 ? 2 : 1;
  return count_into(job, index).resources;
}

void write_counts(const YakCount& count, const jobs::TemporaryIndex& from, const host::Resources& resources) {
  if (count.output.empty()) return;
  const index::IndexFile index(from.path());
  const jobs::ExportOptions job{.order = formats::KmerOrder::by_yak,
                                .largest_count = formats::kLargestYakCount,
                                .saturate = true,
                                .resources = resources};
  formats::YakSink sink(count.output, jobs::facts_of(index));
  const jobs::ExportReport report = jobs::export_index(index, job, sink);
  warn_of_capped(report.saturated, job.largest_count, count.output);
}

int run_yak_count(const std::vector<std::string>& words, const index::Provenance& provenance) {
  YakCount count;
  const OptionTable table = count_options(count);
  if (wants_help(words)) {
    print_on_standard_output(help_text(table, "<in.fa> [in.fa]"));
    return words.empty() ? kUsageError : kDone;
  }
  count.inputs = take_all_options(table, words);
  if (count.inputs.empty())
    throw UsageError("yak count: it takes one input, or with -b a second time the same reads");
  if (!count.output.empty()) check_files({count.output}, count.inputs);
  constexpr std::size_t kMost = 2;
  say_ignored("yak count", std::span(count.inputs).subspan(std::min(count.inputs.size(), kMost)));
  const std::string directory = folder_for_temporary(count.output.empty() ? "-" : count.output);
  const jobs::TemporaryIndex first(directory);
  const host::Resources resources = count_input(count, count.inputs.front(), first, provenance);
  // Without -b the second is not read. With it, it has the counts of what the first has.
  const bool has_second =
      count.bloom_bits > 0 && count.inputs.size() > 1 && count.inputs[1] != count.inputs[0];
  if (!has_second) {
    write_counts(count, first, resources);
    return kDone;
  }
  const jobs::TemporaryIndex second(directory), both(directory);
  (void)count_input(count, count.inputs[1], second, provenance);
  const backend::SetRule rule{
      .operation = backend::SetOperation::intersect, .counts = backend::CountRule::last, .of_result = {}};
  combine_into({first.path(), second.path()}, count.inputs, rule, resources, provenance, both);
  write_counts(count, both, resources);
  return kDone;
}

}  // namespace

int run_yak(const NamedCall& call) {
  if (call.words.empty() || call.words.front() == "--help") {
    print_on_standard_output(
        "Usage: yak <command> <arguments>\nCommands:\n  count     count k-mers\n"
        "  qv        quality of an assembly\n  inspect   histogram of a file\n");
    return call.words.empty() ? kUsageError : kDone;
  }
  const std::string& name = call.words.front();
  if (name == "version") {
    print_on_standard_output("0.1-r93\n");
    return kDone;
  }
  const std::vector<std::string> words(call.words.begin() + 1, call.words.end());
  if (name == "count") return run_yak_count(words, call.provenance);
  if (name == "qv") return run_yak_qv(words, call.provenance);
  if (name == "inspect") return run_yak_inspect(words, call.provenance);
  throw UsageError(fmt::format("yak: '{}' is not done; count, qv and inspect are{}", name,
                               did_you_mean(near_words(name, {"count", "qv", "inspect"}))));
}

}  // namespace warpmer::cli
