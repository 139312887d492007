// Mapped files that others change: what the register says of them, and that no output is made of them.
// ctest: one thread

#include "file/mapped_inputs.h"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "file/mapped_input.h"
#include "file/output/buffered_output.h"
#include "unit/index/index_file_common.h"

using namespace warpmer;
using namespace warpmer::file;
using namespace warpmer::index;
using namespace warpmer::index::test;

namespace {

constexpr std::size_t kBytes = 100'000;

/// A file that is mapped.
struct Mapped {
  explicit Mapped(const ScratchFolder& scratch, const std::string& name = "in") : path(scratch / name) {
    write_bytes(path, std::string(kBytes, 'x'));
    // An hour ago: what is written now has another time, however coarse the clock of files is.
    std::filesystem::last_write_time(path,
                                     std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
    input.emplace(path, 0, [](auto, const auto&) {});
  }
  std::string path;
  std::optional<MappedInput> input;
};

/// Other bytes in the place of some.
void overwrite(const std::string& path, std::size_t at, const std::string& bytes) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(at));
  file << bytes;
}

std::string change() { return MappedInputs::change().value_or(""); }

void finish_output(const std::string& path) {
  BufferedOutput output(path);
  output.write("text");
  output.finish();
}

}  // namespace

TEST_CASE("mapped inputs: whose an address is, and what a fault there means") {
  const ScratchFolder scratch;
  (void)MappedInputs::change();  // of a test before
  int local = 0;
  std::optional<Mapped> one(std::in_place, scratch, "one"), two(std::in_place, scratch, "two");
  const auto* const bytes = two->input->bytes().data();
  const auto name_at = [](const void* address) {
    const MappedInputs::Fault fault = MappedInputs::fault_at(address);
    return std::string(fault.name == nullptr ? "" : fault.name) + (fault.what == nullptr ? "" : fault.what);
  };
  CHECK(name_at(&local).empty());
  CHECK(name_at(bytes) == two->input->name() + kCannotBeRead);  // its file is as it was: so it is the disk
  CHECK(name_at(bytes + kBytes) == two->input->name() + kCannotBeRead);  // of its last page
  CHECK(name_at(one->input->bytes().data() + kBytes / 2) == one->input->name() + kCannotBeRead);
  CHECK(MappedInputs::written_input().name == nullptr);
  std::filesystem::resize_file(two->path, 10);
  CHECK(name_at(bytes + 50'000) == two->input->name() + kBecameShorter);
  CHECK(MappedInputs::written_input().name == two->input->name());
  std::filesystem::resize_file(two->path, kBytes);  // it was empty for a moment, and has its size again
  CHECK(name_at(bytes) == two->input->name() + kWasChanged);
  std::filesystem::resize_file(two->path, 10);
  two.reset();
  CHECK(name_at(bytes).empty());
  CHECK(change() == "'" + (scratch / "two") + "'" + kBecameShorter);  // though it has gone
  CHECK(change().empty());                                            // and is told once
}

TEST_CASE("mapped inputs: what is a change, and what is none") {
  const ScratchFolder scratch;
  Mapped mapped(scratch);
  const std::string name = mapped.input->name();
  CHECK(change().empty());
  std::filesystem::last_write_time(mapped.path, std::filesystem::file_time_type::clock::now());
  CHECK(change().empty());
  overwrite(mapped.path, kBytes, "more");  // behind it
  CHECK(change().empty());
  overwrite(mapped.path, kBytes - 1, "y");
  CHECK(change() == name + kWasChanged);
  overwrite(mapped.path, kBytes - 1, "x");
  CHECK(change().empty());
  std::filesystem::resize_file(mapped.path, kBytes - 1);
  CHECK(change() == name + kBecameShorter);
  std::filesystem::resize_file(mapped.path, kBytes);  // with a zero
  CHECK(change() == name + kWasChanged);
  overwrite(mapped.path, kBytes - 1, "x");
  CHECK(change().empty());
  write_bytes(mapped.path, "another file under its name");
  CHECK(change().empty());
  std::filesystem::remove(mapped.path);
  CHECK(change().empty());
}

TEST_CASE("mapped inputs: nothing is made of one that was changed") {
  const ScratchFolder scratch;
  std::optional<Mapped> mapped(std::in_place, scratch);
  finish_output(scratch / "good");
  {
    BufferedOutput output(scratch / "bad");
    output.write("text");
    overwrite(mapped->path, kBytes - 1, "y");
    CHECK_THROWS_WITH_AS(output.complete(), doctest::Contains("has been changed"), InputError);
    CHECK_THROWS_WITH_AS(output.finish(), doctest::Contains("has been changed"), InputError);
  }
  {
    // It need not be there until the end.
    BufferedOutput output(scratch / "bad");
    mapped.reset();
    CHECK_THROWS_WITH_AS(output.finish(), doctest::Contains("has been changed"), InputError);
  }
  CHECK(!std::filesystem::exists(scratch / "bad"));
  CHECK(scratch.files() == 2);
  // A mapping that begins later is independent of it.
  mapped.emplace(scratch);
  overwrite(mapped->path, kBytes - 1, "y");
  mapped.reset();
  finish_output(scratch / "later");
  CHECK(std::filesystem::exists(scratch / "later"));
}
