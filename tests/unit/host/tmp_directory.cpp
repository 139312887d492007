// Where temporary files go, for whatever an output is.

#include "host/tmp_directory.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "unit/io/io_fixture.h"

namespace {

using warpmer::host::tmp_directory;

/// $TMPDIR is this, or is not there, until it goes.
class TmpdirIs {
 public:
  explicit TmpdirIs(const char* value) {
    if (const char* was = std::getenv("TMPDIR")) before_ = was;
    value != nullptr ? setenv("TMPDIR", value, 1) : unsetenv("TMPDIR");
  }
  ~TmpdirIs() { before_ ? setenv("TMPDIR", before_->c_str(), 1) : unsetenv("TMPDIR"); }
  TmpdirIs(const TmpdirIs&) = delete;
  TmpdirIs& operator=(const TmpdirIs&) = delete;

 private:
  std::optional<std::string> before_;
};

}  // namespace

TEST_CASE("what is chosen comes before $TMPDIR, and that before the output's directory") {
  const TmpdirIs given("/given");
  CHECK(tmp_directory("/chosen", "-") == "/chosen");
  CHECK(tmp_directory("/chosen", "/there/out.wmi") == "/chosen");
  CHECK(tmp_directory("", "-") == "/given");
  CHECK(tmp_directory("", "/there/out.wmi") == "/given");
  const TmpdirIs empty("");
  CHECK(tmp_directory("", "/there/out.wmi") == "/there");
}

TEST_CASE("the directory of a file is that of what a link leads to") {
  const TmpdirIs none(nullptr);
  const io_test::ScratchFolder folder;
  std::filesystem::create_directory(folder / "large");
  const std::string file = folder.write("large/out.wmi", "an older one");
  std::filesystem::create_symlink(file, folder / "link.wmi");
  std::filesystem::create_directory_symlink(folder / "large", folder / "linked");
  std::filesystem::create_symlink(folder / "large/none.wmi", folder / "dangling.wmi");
  std::filesystem::create_symlink("large/none.wmi", folder / "relative.wmi");
  std::filesystem::create_symlink(folder / "none/out.wmi", folder / "broken.wmi");
  CHECK(tmp_directory("", "out.wmi") == ".");
  CHECK(tmp_directory("", "/not/there/out.wmi") == "/not/there");
  CHECK(std::filesystem::equivalent(tmp_directory("", file), folder / "large"));
  CHECK(std::filesystem::equivalent(tmp_directory("", folder / "link.wmi"), folder / "large"));
  CHECK(std::filesystem::equivalent(tmp_directory("", folder / "linked/new.wmi"), folder / "large"));
  // The output goes where a link leads, whether that is there or not.
  CHECK(std::filesystem::equivalent(tmp_directory("", folder / "dangling.wmi"), folder / "large"));
  CHECK(std::filesystem::equivalent(tmp_directory("", folder / "relative.wmi"), folder / "large"));
  CHECK(tmp_directory("", folder / "broken.wmi") == folder / "none");
}

TEST_CASE("streams have no directory; it is the system's, on a disk where there is one") {
  const TmpdirIs none(nullptr);
  const io_test::ScratchFolder folder;
  const std::string fifo = folder / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  std::filesystem::create_symlink(fifo, folder / "link");
  const std::string expected = ::access("/var/tmp", W_OK | X_OK) == 0 ? "/var/tmp" : "/tmp";
  for (const std::string& stream :
       {std::string("-"), std::string("/dev/stdout"), std::string("/dev/null"), fifo, folder / "link"}) {
    CAPTURE(stream);
    CHECK(tmp_directory("", stream) == expected);
  }
}
