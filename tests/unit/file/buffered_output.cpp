// Tests the messages about an output that does not fit. ctest: one thread

#include "file/output/buffered_output.h"

#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "base/error.h"
#include "refusal.h"

using namespace warpmer;
using file::BufferedOutput;

namespace {

/// The error of a full disk.
std::string error_of(const std::function<void(BufferedOutput&)>& write) {
  BufferedOutput output("/dev/full");
  return tests::refusal<ResourceError>([&] {
    write(output);
    output.finish();
  });
}

std::string begin(const std::string& amount) {
  return "cannot write " + amount + " more bytes, after 0, to '/dev/full': No space left on device";
}

}  // namespace

TEST_CASE("buffered output: a share of all tells how much is needed, and headers come once") {
  const std::string header(1000, 'h'), text(100, 't'), large(300'000, 't');
  const auto check = [&](const std::string& amount, const std::function<void(BufferedOutput&)>& write) {
    const std::string error = error_of(write);
    CAPTURE(error);
    CHECK(error.starts_with(begin(amount)));
  };
  check("1100", [&](BufferedOutput& output) {
    output.write(header);
    output.write(text);
  });
  check("1100", [&](BufferedOutput& output) {
    output.write(header);
    output.write(text, {.done = 5, .total = 0});
  });
  check("about 3000", [&](BufferedOutput& output) {
    output.write(header);
    output.write(text, {.done = 1, .total = 20});
  });
  // The last share counts, and bytes without one are in it.
  check("about 2200", [&](BufferedOutput& output) {
    output.write(header);
    output.write(text, {.done = 1, .total = 20});
    output.write(text);
    output.write(text, {.done = 5, .total = 20});
  });
  check("1100", [&](BufferedOutput& output) {
    output.write(header);
    output.write(text, {.done = 0, .total = 20});
  });
  check("1200", [&](BufferedOutput& output) {
    output.write(header);
    output.write(text, {.done = 1, .total = 2});
    output.write(text, {.done = 2, .total = 2});
  });
  // Of what is written at once, the share is known before.
  check("about 3000000", [&](BufferedOutput& output) { output.write(large, {.done = 1, .total = 10}); });
  check("about 700", [&](BufferedOutput& output) {
    text.copy(output.reserve(text.size()), text.size());
    output.commit(text.size(), {.done = 2, .total = 14});
  });
  check("about 5000", [&](BufferedOutput& output) {
    output.expect(5000);
    output.write(text);
  });
}
