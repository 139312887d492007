// How refusals speak of memory.

#include "base/memory_text.h"

#include <doctest/doctest.h>

using namespace warpmer;

TEST_CASE("memory text: what there is is rounded down, what is needed up, and little is in KiB") {
  constexpr std::uint64_t kKibi = 1024, kMebi = kKibi * kKibi;
  CHECK(mebibytes(512 * kMebi + kMebi / 2) == "512 MiB");
  CHECK(mebibytes(kMebi) == "1 MiB");
  CHECK(mebibytes(kMebi - 1) == "1023 KiB");
  CHECK(mebibytes(0) == "0 KiB");
  CHECK(mebibytes_needed(512 * kMebi + kMebi / 2) == "513 MiB");
  CHECK(mebibytes_needed(300 * kKibi) == "301 KiB");
}
