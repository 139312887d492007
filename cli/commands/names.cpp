/// `warpmer names`: puts the programs to which warpmer answers by their names first on the path.

#include <fmt/format.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/error.h"
#include "cli/framework/application.h"
#include "cli/framework/commands.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/text_output.h"
#include "cli/personalities/personality.h"
#include "file/shell_word.h"
#include "system/program.h"

namespace warpmer::cli {
namespace {

namespace fs = std::filesystem;

/// The folder of links, from that of the program: where it was built, and where it is installed.
constexpr const char* kFolders[] = {"libexec/warpmer", WARPMER_NAMES_FOLDER};

/// Returns the folder in which links with all names lead to this program.
fs::path folder_of_names() {
  std::error_code failed;
  const fs::path program = system::program_path();
  const std::string first(personalities().front().name);
  for (const char* folder : kFolders) {
    fs::path names = (program.parent_path() / folder).lexically_normal();
    if (fs::equivalent(names / first, program, failed)) return names;
  }
  throw ResourceError(
      fmt::format("there is no folder '{}' with links to this program; 'cmake --install' makes it, and "
                  "'warpmer {}' works without it",
                  (program.parent_path() / WARPMER_NAMES_FOLDER).lexically_normal().string(), first));
}

/// Returns all names, with commas, in lines that fit a terminal.
std::string list_of_names() {
  constexpr std::size_t kLine = 76;
  std::string names;
  std::size_t line = 0;
  for (const Personality& each : personalities()) {
    if (line > 0 && line + each.name.size() > kLine) {
      names += ",\n  ";
      line = 0;
    } else if (line > 0) {
      names += ", ";
    }
    names += each.name;
    line += each.name.size() + 2;
  }
  return names;
}

}  // namespace

void add_names_command(Application& application) {
  CLI::App& command = application.add_command(
      "names",
      "Print the line for a shell that puts other programs' names on its path.\n"
      "Called by such a name, warpmer takes that program's command line, and does the same job with its own "
      "engine: the same output files, text and exit status. So pipelines run unchanged. 'warpmer NAME ...' "
      "is the same. An option that means nothing here is accepted in silence; one that would change the "
      "result "
      "and is not done is refused. What their command lines cannot say, WARPMER_DEVICE, WARPMER_MEMORY and "
      "WARPMER_THREADS do, as --device, -m and -t of 'warpmer count'.",
      fmt::format(R"~(Names:
  {}

Examples:
  eval "$(warpmer names)"
  kmc -k31 -ci2 @reads.txt sample /tmp
  warpmer kmc -k31 reads.fq.gz sample /tmp
  WARPMER_DEVICE=cpu WARPMER_MEMORY=8G kmc -k31 reads.fq.gz sample /tmp
)~",
                  list_of_names()));
  application.on_run(command, [] {
    TextOutput output("-");
    output.print("export PATH={}:\"$PATH\"\n", file::shell_word(folder_of_names().string()));
    output.finish();
    return static_cast<int>(kDone);
  });
}

}  // namespace warpmer::cli
