// ctest: one thread

#include "cli/output/batch_text.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "scratch_folder.h"

using namespace warpmer::cli;

namespace {

/// Returns what is written when batches come up to some number, then all of them, cut otherwise.
std::string written(const std::vector<std::string>& lines, std::size_t first_time,
                    std::size_t lines_at_once) {
  const warpmer::tests::ScratchFolder folder;
  {
    TextOutput output(folder / "text");
    BatchJoiner joiner(TrackRule::TrackFormat::bed, output);
    for (std::size_t i = 0; i < first_time; ++i) joiner.write({lines[i]});
    joiner.begin_again();
    for (std::size_t i = 0; i < lines.size(); i += lines_at_once) {
      std::string some;
      for (std::size_t j = i; j < std::min(lines.size(), i + lines_at_once); ++j) some += lines[j];
      joiner.write({some});
    }
    output.finish();
  }
  return warpmer::tests::read_bytes(folder / "text");
}

}  // namespace

TEST_CASE("batches that come again are written once") {
  const std::vector<std::string> lines = {"a\t1\n", "bb\t22\n", "ccc\t333\n", "d\n", "e\t5\n", "f\t6\n"};
  for (std::size_t first_time = 0; first_time <= lines.size(); ++first_time) {
    for (std::size_t at_once = 1; at_once <= lines.size(); ++at_once) {
      CAPTURE(first_time);
      CAPTURE(at_once);
      CHECK(written(lines, first_time, at_once) == "a\t1\nbb\t22\nccc\t333\nd\ne\t5\nf\t6\n");
    }
  }
}
