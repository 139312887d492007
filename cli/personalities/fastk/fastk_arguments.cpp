#include "cli/personalities/fastk/fastk_arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "cli/personalities/option_table.h"
#include "cli/personalities/personality.h"

namespace warpmer::cli {

std::optional<std::vector<std::string>> fastk_arguments(const NamedCall& call, const OptionTable& table,
                                                        std::string_view usage, std::size_t least,
                                                        std::size_t most) {
  if (std::ranges::find(call.words, "--help") != call.words.end()) {
    print_on_standard_output(help_text(table, usage));
    return std::nullopt;
  }
  std::vector<std::string> arguments = take_all_options(table, call.words);
  if (arguments.size() < least || arguments.size() > most)
    throw UsageError(fmt::format("{0}: it takes {1} (see '{0} --help')", table.program, usage));
  return arguments;
}

}  // namespace warpmer::cli
