// Commands that messages suggest: tests/cli/messages.py pastes some.

#include "file/suggestion.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

using warpmer::file::note_command_line;
using warpmer::file::piped_in;

/// A command line that is noted during a test.
struct NotedLine {
  explicit NotedLine(std::vector<std::string> words) { note_command_line(std::move(words), {"--only"}); }
  ~NotedLine() { note_command_line({}, {}); }
};

TEST_CASE("suggestion: the input's place in the command that runs") {
  const NotedLine line({"/bin/warpmer", "count", "-k", "21", "-o", "a b.wmi", "x.lz", "y.fq"});
  CHECK(piped_in("lzip -dc {}", "x.lz") == "`lzip -dc x.lz | /bin/warpmer count -k 21 -o 'a b.wmi' - y.fq`");
}

TEST_CASE("suggestion: of a flag's value") {
  const NotedLine line({"warpmer", "query", "x.wmi", "--reads=it's x"});
  CHECK(piped_in("tail -c +4 {}", "it's x") == "`tail -c +4 'it'\\''s x' | warpmer query x.wmi --reads=-`");
}

TEST_CASE("suggestion: of a name that is no option") {
  const NotedLine line({"warpmer", "count", "--", "-x.lz"});
  CHECK(piped_in("lzip -dc {}", "./-x.lz") == "`lzip -dc ./-x.lz | warpmer count -- -`");
}

TEST_CASE("suggestion: there is one standard input") {
  const NotedLine line({"warpmer", "filter", "x.wmi", "-1", "-", "-2", "-b.lz"});
  CHECK(piped_in("lzip -dc {}", "-b.lz") == "`warpmer filter x.wmi -1 - -2 <(lzip -dc ./-b.lz)`");
  CHECK(piped_in("lzip -dc {}", "standard input") == "`lzip -dc FILE | warpmer filter x.wmi -1 - -2 -b.lz`");
}

TEST_CASE("suggestion: an example where the command does not say enough") {
  const std::string example = "`lzip -dc x.lz | warpmer count -o out.wmi -`";
  CHECK(piped_in("lzip -dc {}", "x.lz") == example);  // as in a library
  CHECK(piped_in("lzip -dc {}", "standard input") == "`lzip -dc FILE | warpmer count -o out.wmi -`");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"warpmer", "count", "@list"},
        std::vector<std::string>{"warpmer", "count", "--only", "x.lz", "y.fq"},
        std::vector<std::string>{"warpmer", "count", "--only=x.lz", "y.fq"},
        std::vector<std::string>{"x.lz", "count", "ax.lz", "-ox.lz"},
        std::vector<std::string>{"warpmer", "count", "x.lz", std::string(500, 'y')}}) {
    const NotedLine line(words);
    CHECK(piped_in("lzip -dc {}", "x.lz") == example);
  }
}

}  // namespace
