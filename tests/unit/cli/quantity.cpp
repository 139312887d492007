// ctest: one thread

#include "cli/arguments/quantity.h"

#include <doctest/doctest.h>

#include "base/number_text.h"

using namespace warpmer;
using namespace warpmer::cli;

TEST_CASE("whole numbers are decimal digits and nothing else") {
  CHECK(whole_number("0") == 0);
  CHECK(whole_number("031") == 31);  // not octal
  CHECK(whole_number("18446744073709551615") == UINT64_MAX);
  for (const char* bad : {"", "-1", "+1", " 1", "1 ", "1x", "0x10", "1.0", "18446744073709551616"}) {
    CAPTURE(bad);
    CHECK_FALSE(whole_number(bad).has_value());
  }
}

TEST_CASE("sizes have binary units") {
  constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
  CHECK(parse_size("512") == 512);
  CHECK(parse_size("512B") == 512);
  CHECK(parse_size("1K") == 1024);
  CHECK(parse_size("3m") == 3 << 20);
  CHECK(parse_size("16G") == 16 * kGiB);
  CHECK(parse_size("16GB") == 16 * kGiB);
  CHECK(parse_size("16GiB") == 16 * kGiB);
  CHECK(parse_size("1.5g") == kGiB * 3 / 2);
  CHECK(parse_size("2T") == 2048 * kGiB);
  CHECK(parse_size("16777215T") == std::uint64_t{16777215} << 40);
  for (const char* bad :
       {"", "G", "-1G", "1X", "1GX", "1 G", "1..5G", ".", "1e3", "16777216T", "nan", "inf"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_size(bad).has_value());
  }
}

TEST_CASE("quantities for people") {
  CHECK(with_thousands(0) == "0");
  CHECK(with_thousands(999) == "999");
  CHECK(with_thousands(1000) == "1,000");
  CHECK(with_thousands(368112332) == "368,112,332");
  CHECK(counted(0, "read") == "0 reads");
  CHECK(counted(1, "read") == "1 read");
  CHECK(counted(12345, "read") == "12,345 reads");
  CHECK(format_bytes(0) == "0 B");
  CHECK(format_bytes(999) == "999 B");
  CHECK(format_bytes(1000) == "1.00 kB");
  CHECK(format_bytes(999.6e3) == "1.00 MB");
  CHECK(format_bytes(12.34e6) == "12.3 MB");
  CHECK(format_bytes(345.6e9) == "346 GB");
  CHECK(format_amount(7) == "7");
  CHECK(format_amount(12345) == "12,345");
  CHECK(format_amount(1'000'000) == "1.00 M");
  CHECK(format_amount(245'400'000) == "245 M");
  CHECK(format_clock(0) == "0:00");
  CHECK(format_clock(67.2) == "1:07");
  CHECK(format_clock(7389) == "2:03:09");
}
