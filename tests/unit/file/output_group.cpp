// Outputs that get their names together, what they replace, and where links lead. ctest: one thread

#include "file/output/output_group.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "base/error.h"
#include "file/output/buffered_output.h"
#include "file/output/output_path.h"
#include "file/output/temp_file_registry.h"
#include "unit/index/index_file_common.h"

using namespace warpmer;
using namespace warpmer::file;
using namespace warpmer::index;
using namespace warpmer::index::test;

namespace {

void write_text(const std::string& path, const std::string& text) {
  BufferedOutput output(path);
  output.write(text);
  output.finish();
}

mode_t mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

std::string refusal_of(const std::string& path) {
  return refusal<ResourceError>([&] { check_output_path(path); });
}

}  // namespace

TEST_CASE("output group: files get their names together, and a group within another names none") {
  const ScratchFolder scratch;
  write_bytes(scratch / "b", "older");
  {
    OutputGroup outputs;
    CHECK(OutputGroup::current() == &outputs);
    {
      OutputGroup inner;
      write_text(scratch / "a", "1");
      inner.name_all();
    }
    write_text(scratch / "b", "2");
    CHECK_FALSE(std::filesystem::exists(scratch / "a"));
    CHECK(read_bytes(scratch / "b") == "older");
    {
      const UnfinishedOutput for_now(scratch / "now");
      write_text(scratch / "now", "0");
      CHECK(read_bytes(scratch / "now") == "0");
      std::filesystem::remove(scratch / "now");
    }
    outputs.name_all();
    CHECK(read_bytes(scratch / "a") == "1");
    CHECK(read_bytes(scratch / "b") == "2");
    outputs.name_all();
    write_text(scratch / "c", "3");
    CHECK_FALSE(std::filesystem::exists(scratch / "c"));
  }
  CHECK(OutputGroup::current() == nullptr);
  CHECK(scratch.files() == 2);
  CHECK(read_bytes(scratch / "b") == "2");
  write_text(scratch / "c", "3");  // without a group, at once
  CHECK(read_bytes(scratch / "c") == "3");
}

TEST_CASE("output group: when a name cannot be given, none is, and what was replaced is back") {
  const ScratchFolder scratch;
  std::filesystem::create_directory(scratch / "folder");
  for (const bool is_replaced : {false, true}) {
    CAPTURE(is_replaced);
    if (is_replaced) write_bytes(scratch / "a", "older");
    const std::size_t before = scratch.files();
    {
      OutputGroup outputs;
      write_text(scratch / "a", "1");
      write_text(scratch / "folder/b", "2");
      write_text(scratch / "c", "3");
      std::filesystem::remove_all(scratch / "folder");
      const std::string message = refusal<ResourceError>([&] { outputs.name_all(); });
      CHECK(says(message, "folder/b': No such file"));
      CHECK(says(message, "; none of the outputs is written"));
    }
    CHECK(scratch.files() == before - 1);
    if (is_replaced) CHECK(read_bytes(scratch / "a") == "older");
    std::filesystem::create_directory(scratch / "folder");
  }
}

TEST_CASE("output group: a file that other processes know is named at once, and no more if the job fails") {
  const ScratchFolder scratch;
  for (const bool is_replaced : {false, true}) {
    CAPTURE(is_replaced);
    if (is_replaced) write_bytes(scratch / "a", "older");
    {
      OutputGroup outputs;
      BufferedOutput shared(scratch / "a");
      CHECK_FALSE(shared.temporary().empty());
      shared.write("1");
      shared.finish();
      CHECK(read_bytes(scratch / "a") == "1");
    }
    CHECK(scratch.files() == (is_replaced ? 1 : 0));
    if (is_replaced) CHECK(read_bytes(scratch / "a") == "older");
  }
}

TEST_CASE("output group: a signal waits until all files have their names") {
  const ScratchFolder scratch;
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGTERM, [](int) {
      remove_temp_files();
      ::_exit(7);
    });
    {
      const SignalsWait wait;
      ::kill(::getpid(), SIGTERM);
      ::usleep(20'000);
      write_bytes(scratch / "a", "1");
    }
    ::usleep(2'000'000);
    ::_exit(8);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WEXITSTATUS(status) == 7);
  CHECK(read_bytes(scratch / "a") == "1");
}

TEST_CASE("output: one that replaces a file has its mode, and links lead to where it is made") {
  const ScratchFolder scratch;
  for (const mode_t mode : {0600U, 0640U, 0444U, 0666U}) {
    write_bytes(scratch / "a", "older");
    REQUIRE(::chmod((scratch / "a").c_str(), mode) == 0);
    write_text(scratch / "a", "1");
    CHECK(mode_of(scratch / "a") == mode);
    std::filesystem::remove(scratch / "a");
  }
  std::filesystem::create_symlink("b", scratch / "first");
  std::filesystem::create_symlink(scratch / "first", scratch / "second");
  CHECK(resolve(scratch / "second") == scratch / "b");
  write_text(scratch / "second", "2");
  CHECK(read_bytes(scratch / "b") == "2");
  CHECK(std::filesystem::is_symlink(scratch / "second"));
}

TEST_CASE("output: what cannot be made is known beforehand") {
  const ScratchFolder scratch;
  write_bytes(scratch / "file", "");
  std::filesystem::create_symlink("circle", scratch / "circle");
  CHECK(refusal_of("-").empty());
  CHECK(refusal_of("/dev/null").empty());
  CHECK(refusal_of(scratch / "file").empty());
  CHECK(refusal_of(scratch / std::string(255, 'x')).empty());
  CHECK(says(refusal_of(""), "empty"));
  CHECK(says(refusal_of(scratch / std::string(256, 'x')), "its name has 256 bytes"));
  CHECK(says(refusal_of("x" + std::string(5000, '/') + "y"), "its path has 5002 bytes"));
  CHECK(says(refusal_of(scratch / "none/x"), "does not exist"));
  CHECK(says(refusal_of(scratch / "file/x"), "is not a directory"));
  CHECK(says(refusal_of(scratch / "."), "it is a directory"));
  CHECK(says(refusal_of(scratch / "new/"), "it names a directory"));
  CHECK(says(refusal_of(scratch / "circle"), "circle"));
  CHECK(!refusal<ResourceError>([] { write_text("/proc/a", ""); }).empty());
}
