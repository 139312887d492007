// Tests files as the system of this build has them: portable builds run the same.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "system/descriptors.h"
#include "system/disk.h"
#include "system/exchange_names.h"
#include "system/file_pieces.h"
#include "system/file_time.h"
#include "system/nameless_file.h"
#include "unit/index/index_file_common.h"

using namespace warpmer;
using namespace warpmer::index::test;

namespace {

std::string content_of(int fd) {
  std::string text(1000, '\0');
  const ssize_t bytes = ::pread(fd, text.data(), text.size(), 0);
  REQUIRE(bytes >= 0);
  text.resize(static_cast<std::size_t>(bytes));
  return text;
}

bool is_handed_on(int fd) { return (::fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0; }
bool waits(int fd) { return (::fcntl(fd, F_GETFL) & O_NONBLOCK) == 0; }

}  // namespace

TEST_CASE("system: a nameless file has no name until it is given one, or the system says that it has none") {
  const ScratchFolder scratch;
  const auto mode = system::mode_of_nameless(scratch.path());
  const int fd = system::open_nameless(scratch.path(), mode.value_or(0600));
  if (fd < 0) {
    CHECK(system::lacks_nameless_files(errno));
    return;
  }
  REQUIRE(::write(fd, "text", 4) == 4);
  CHECK_FALSE(is_handed_on(fd));
  CHECK(scratch.files() == 0);
  if (mode) {
    write_bytes(scratch / "b", "other");
    CHECK(system::name_nameless(fd, scratch / "a") == 0);
    CHECK(system::name_nameless(fd, scratch / "b") == EEXIST);
    CHECK(read_bytes(scratch / "a") == "text");
    CHECK(read_bytes(scratch / "b") == "other");
    struct stat named {
    }, other{};
    REQUIRE(::stat((scratch / "a").c_str(), &named) == 0);
    REQUIRE(::stat((scratch / "b").c_str(), &other) == 0);
    CHECK((named.st_mode & 07777) == (other.st_mode & 07777));  // those of any new file
  }
  ::close(fd);
}

TEST_CASE("system: a file that is unlinked at once is this user's, and is left nowhere") {
  const ScratchFolder scratch;
  const int fd = system::open_unlinked(scratch.path());
  REQUIRE(fd >= 0);
  CHECK(scratch.files() == 0);
  CHECK_FALSE(is_handed_on(fd));
  struct stat status {};
  REQUIRE(::fstat(fd, &status) == 0);
  CHECK(status.st_nlink == 0);
  CHECK((status.st_mode & 0777) == 0600);
  REQUIRE(::write(fd, "text", 4) == 4);
  CHECK(content_of(fd) == "text");
  CHECK(system::sync_content(fd) == 0);
  ::close(fd);
  CHECK(system::sync_content(fd) == EBADF);
  CHECK(system::open_unlinked(scratch / "none") < 0);
}

TEST_CASE("system: names are exchanged, or nothing is changed") {
  const ScratchFolder scratch;
  write_bytes(scratch / "a", "1");
  write_bytes(scratch / "b", "2");
  const bool is_done = system::exchange_names(scratch / "a", scratch / "b");
  CHECK(read_bytes(scratch / "a") == (is_done ? "2" : "1"));
  CHECK(read_bytes(scratch / "b") == (is_done ? "1" : "2"));
  CHECK_FALSE(system::exchange_names(scratch / "a", scratch / "none"));
  CHECK(scratch.files() == 2);
}

TEST_CASE("system: pieces are written to their place, as many as are said") {
  const ScratchFolder scratch;
  const int fd = ::open((scratch / "a").c_str(), O_RDWR | O_CREAT, 0600);
  REQUIRE(fd >= 0);
  std::string one = "one", two = "two";
  std::vector<iovec> pieces = {
      {nullptr, 0}, {one.data(), one.size()}, {nullptr, 0}, {two.data(), two.size()}};
  const ssize_t written = system::write_pieces_at(fd, pieces.data(), static_cast<int>(pieces.size()), 2);
  CHECK(written >= 3);
  CHECK(content_of(fd) == std::string("\0\0onetwo", 8).substr(0, 2 + static_cast<std::size_t>(written)));
  CHECK(system::write_pieces_at(fd, pieces.data(), 1, 0) == 0);
  CHECK(system::write_pieces_at(-1, pieces.data(), 2, 0) == -1);
  ::close(fd);
}

TEST_CASE("system: the time of a change is told to what the file system keeps") {
  const ScratchFolder scratch;
  write_bytes(scratch / "a", "1");
  const timespec times[2] = {{1, 5}, {1'700'000'000, 123'456'000}};
  REQUIRE(::utimensat(AT_FDCWD, (scratch / "a").c_str(), times, 0) == 0);
  struct stat status {};
  REQUIRE(::stat((scratch / "a").c_str(), &status) == 0);
  const timespec changed = system::changed_at(status);
  CHECK(changed.tv_sec == 1'700'000'000);
  CHECK(changed.tv_nsec == 123'456'000);
}

TEST_CASE("system: a descriptor is named by its number, and opened again with a place of its own") {
  CHECK(system::descriptor_named("/dev/fd/17") == 17);
  for (const char* const path : {"", "17", "/dev/fd/", "/dev/fd/x", "/dev/fd/1x", "/dev/fd", "/dev/fdx/1"}) {
    CAPTURE(path);
    CHECK(system::descriptor_named(path) == -1);
  }
  const ScratchFolder scratch;
  write_bytes(scratch / "a", "text");
  const int fd = ::open((scratch / "a").c_str(), O_RDONLY);
  REQUIRE(::lseek(fd, 2, SEEK_SET) == 2);
  const int again = system::open_again(fd);
  if (again >= 0) {
    CHECK_FALSE(is_handed_on(again));
    CHECK(::lseek(again, 0, SEEK_CUR) == 0);
    CHECK(content_of(again) == "text");
    ::close(again);
  }
  CHECK(::lseek(fd, 0, SEEK_CUR) == 2);
  ::close(fd);
}

TEST_CASE("system: ends of a pipe are not handed on, and wait only where that is wanted") {
  for (const bool without_waiting : {false, true}) {
    CAPTURE(without_waiting);
    int ends[2] = {-1, -1};
    REQUIRE(system::make_pipe(ends, without_waiting) == 0);
    system::widen_pipe(ends[1]);
    for (const int end : ends) {
      CHECK_FALSE(is_handed_on(end));
      CHECK(waits(end) == !without_waiting);
    }
    char byte = 'a';
    CHECK(::write(ends[1], &byte, 1) == 1);
    byte = 'b';
    CHECK(::read(ends[0], &byte, 1) == 1);
    CHECK(byte == 'a');
    for (const int end : ends) ::close(end);
  }
}
