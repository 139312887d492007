// Tests the memory that processes of a job have on one node.
// ctest: one thread

#include "host/limits.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>

TEST_CASE("processes of a job on one node divide what is free there") {
  const std::uint64_t before = warpmer::host::usable_memory_bytes();
  setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "4", 1);
  const std::uint64_t one_of_four = warpmer::host::usable_memory_bytes();
  CHECK(warpmer::host::allowed_memory_bytes() >= one_of_four);
  unsetenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  // Others may take and give back memory in between.
  const std::uint64_t alone = std::max(before, warpmer::host::usable_memory_bytes());
  CHECK(one_of_four > 0);
  CHECK(one_of_four < alone / 2);
  CHECK(warpmer::host::allowed_memory_bytes() >= alone);
}
