/// `warpmer histo`: how many distinct k-mers occur how often.

#include <memory>
#include <string>

#include "cli/application.h"
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/flags.h"
#include "cli/text_output.h"
#include "index/index_file.h"

namespace warpmer::cli {
namespace {

struct HistoOptions {
  std::string index;
  std::string output;
  bool dense = false;
};

// One space between the columns: other tools split on it.
int run_histo(const HistoOptions& options) {
  check_output(options.output, {options.index});
  const index::IndexFile index(options.index);
  TextOutput output(options.output);
  std::uint64_t next = 1;
  for (const auto& [count, kmers] : index.histogram()) {
    for (; options.dense && next < count; ++next) {
      output.print("{} 0\n", next);
    }
    output.print("{} {}\n", count, kmers);
    next = count + 1;
  }
  output.finish();
  return kDone;
}

}  // namespace

void add_histo_command(Application& application) {
  auto options = std::make_shared<HistoOptions>();
  CLI::App& command = application.add_command(
      "histo",
      "Print how many distinct k-mers occur how often.\n"
      "One line per count: the count, a space, the number of distinct k-mers that occur so often. No header, "
      "no upper limit.",
      R"(Examples:
  warpmer histo sample.wmi
  warpmer histo --dense sample.wmi > sample.hist      # for GenomeScope
)");
  command.add_flag("--dense", options->dense,
                   "Print every count from 1 to the largest, also those that no k-mer has.");
  add_text_output_flag(command, options->output);
  add_index_argument(command, options->index);
  application.on_run(command, [options] { return run_histo(*options); });
}

}  // namespace warpmer::cli
