/// `kmc_dump`: the k-mers of a database as text, by the command line of KMC 3.2.4.

#include <fmt/format.h>

#include <span>
#include <string>

#include "base/error.h"
#include "cli/framework/command_files.h"
#include "cli/framework/exit_status.h"
#include "cli/personalities/kmc/kmc_databases.h"
#include "cli/personalities/option_table.h"
#include "cli/personalities/personality.h"
#include "cli/personalities/programs.h"

namespace warpmer::cli {
namespace {

/// KMC's exit status for `kmc_dump -h`, an option that it does not have.
constexpr int kUsageOfKmcDump = 1;

struct KmcDumpCall {
  std::uint64_t min_count = 0, max_count = 0;  ///< 0: as the database has it
};

OptionTable kmc_dump_options(KmcDumpCall& call) {
  using enum ValuePlace;
  return {"kmc_dump",
          {taken("-ci", glued, "leave out k-mers that occur less often", store_number(call.min_count)),
           taken("-cx", glued, "leave out k-mers that occur more often", store_number(call.max_count))}};
}

std::string kmc_dump_help() {
  KmcDumpCall call;
  return fmt::format("KMC dump ver. 3.2.4 (as done by warpmer " WARPMER_VERSION
                     ")\n\nUsage:\n  kmc_dump [options] DATABASE OUTPUT\nOptions:\n{}",
                     options_text(kmc_dump_options(call)));
}

}  // namespace

int run_kmc_dump(const NamedCall& named) {
  const bool is_letter = !named.words.empty() && named.words.front() == "-h";
  if (asks_for_help(named) || is_letter) {
    print_on_standard_output(kmc_dump_help());
    return is_letter ? kUsageOfKmcDump : kDone;
  }
  KmcDumpCall call;
  const std::size_t options = take_options(kmc_dump_options(call), named.words);
  if (named.words.size() < options + 2)
    throw UsageError("kmc_dump: it takes a database and the name of the output (see 'kmc_dump --help')");
  say_ignored("kmc_dump", std::span(named.words).subspan(options + 2));
  const NamedDatabase database(named.words[options], PreferredFiles::kmc);
  DatabaseOutput output;
  output.name = named.words[options + 1];
  output.format = formats::Format::tsv;
  output.largest_counter = UINT64_MAX;
  output.bounds.min = call.min_count > 0 ? call.min_count : database.facts().min_count;
  output.bounds.max = call.max_count > 0 ? call.max_count : database.facts().max_count;
  check_files(output.files(), database.files());
  const auto source = database.open(output.bounds);
  write_text(*source, output, host::settled(named_resources()));
  return kDone;
}

}  // namespace warpmer::cli
