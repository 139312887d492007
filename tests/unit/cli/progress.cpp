// ctest: one thread

#include "cli/output/progress.h"

#include <doctest/doctest.h>

using namespace warpmer::cli;
using Stage = warpmer::backend::JobProgress::Stage;

TEST_CASE("reading shows bytes, rate, k-mers and the time left") {
  ProgressSnapshot now{Stage::reading, 1'200'000'000, 3'600'000'000, 245'000'000, 0, 0};
  CHECK(render_progress(now, 4.0) == "reading 1.20 GB of 3.60 GB (33 %), 300 MB/s, 245 M k-mers, 0:08 left");
}

TEST_CASE("a pipe has no total, so no time left") {
  ProgressSnapshot now{Stage::reading, 1'200'000'000, 0, 245'000'000, 0, 0};
  CHECK(render_progress(now, 4.0) == "reading 1.20 GB, 300 MB/s, 245 M k-mers");
}

TEST_CASE("a file that grows never shows more than all of it") {
  ProgressSnapshot now{Stage::reading, 2'000'000, 1'000'000, 5, 0, 0};
  CHECK(render_progress(now, 1.0) == "reading 2.00 MB of 2.00 MB (100 %), 2.00 MB/s, 5 k-mers, 0:00 left");
}

TEST_CASE("the first moments promise nothing") {
  ProgressSnapshot now{Stage::reading, 0, 1'000'000, 0, 0, 0};
  CHECK(render_progress(now, 0.0) == "reading 0 B of 1.00 MB (0 %), 0 k-mers");
}

TEST_CASE("other stages") {
  CHECK(render_progress({}, 0.0) == "starting");
  CHECK(render_progress({Stage::counting, 1, 1, 3'000'000, 7, 4096}, 9.0) ==
        "counting shard 7 of 4096, 3.00 M k-mers");
  CHECK(render_progress({Stage::combining, 0, 0, 0, 7, 4096}, 9.0) == "shard 7 of 4096");
  CHECK(render_progress({Stage::indexing, 1, 1, 3'000'000, 7, 4096}, 9.0) ==
        "indexing bin 7 of 4096, 3.00 M k-mers");
  CHECK(render_progress({Stage::answering, 1'200'000, 3'600'000, 0, 0, 0}, 4.0) ==
        "looked up 1.20 MB of 3.60 MB (33 %), 300 kB/s, 0:08 left");
  CHECK(render_progress({Stage::answering, 1'200'000, 0, 0, 0, 0}, 4.0) == "looked up 1.20 MB, 300 kB/s");
  CHECK(render_progress({Stage::writing, 25, 100, 0, 0, 0}, 4.0) == "writing (25 %), 0:12 left");
  CHECK(render_progress({Stage::writing, 25, 100, 0, 0, 0}, 0.1) == "writing (25 %)");
  CHECK(render_progress({Stage::writing, 0, 0, 0, 0, 0}, 4.0) == "writing");
}
