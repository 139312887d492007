// Tests what large files leave in the page cache.
// ctest: one thread

#include "file/write_behind.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "file/output/output_file.h"
#include "unit/index/index_file_common.h"

using namespace warpmer;
using namespace warpmer::index::test;

namespace {

constexpr std::uint64_t kMegabyte = std::uint64_t{1} << 20;

/// True when the pages of files in a folder are not their only copy.
bool has_disk(const std::string& folder) {
  struct statfs status {};
  REQUIRE(::statfs(folder.c_str(), &status) == 0);
  if (status.f_type != TMPFS_MAGIC && status.f_type != RAMFS_MAGIC) return true;
  MESSAGE("skipped: temporary files are in memory (TMPDIR)");
  return false;
}

/// Returns the number of bytes of a part of a file that are in the page cache.
std::uint64_t bytes_in_cache(int fd, std::uint64_t begin, std::uint64_t end) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  void* const mapped = ::mmap(nullptr, end, PROT_READ, MAP_SHARED, fd, 0);
  REQUIRE(mapped != MAP_FAILED);
  std::vector<unsigned char> pages((end + page - 1) / page);
  REQUIRE(::mincore(mapped, end, pages.data()) == 0);
  ::munmap(mapped, end);
  std::uint64_t bytes = 0;
  for (std::uint64_t i = begin / page; i < pages.size(); ++i) bytes += (pages[i] & 1) * page;
  return bytes;
}

/// A file that is on the disk, and in the cache.
int make_file(const std::string& path, std::uint64_t bytes) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  REQUIRE(fd >= 0);
  const std::vector<char> text(kMegabyte, 'x');
  for (std::uint64_t at = 0; at < bytes; at += text.size()) {
    REQUIRE(::pwrite(fd, text.data(), text.size(), static_cast<off_t>(at)) ==
            static_cast<ssize_t>(text.size()));
  }
  REQUIRE(::fdatasync(fd) == 0);
  return fd;
}

}  // namespace

TEST_CASE("write behind: what is far from the end leaves the cache, where that is wanted") {
  const ScratchFolder scratch;
  if (!has_disk(scratch.path())) return;
  const std::uint64_t end = 72 * kMegabyte;
  const int fd = make_file(scratch / "a", end);
  file::WriteBehind keeping, leaving;
  leaving.leave_cache();
  keeping.note(fd, end, end);
  CHECK(bytes_in_cache(fd, 0, end) == end);
  leaving.note(fd, end, kMegabyte);  // too little to ask for anything
  CHECK(bytes_in_cache(fd, 0, end) == end);
  leaving.note(fd, end, 8 * kMegabyte);
  CHECK(bytes_in_cache(fd, 0, 8 * kMegabyte) == 0);
  CHECK(bytes_in_cache(fd, 8 * kMegabyte, end) == end - 8 * kMegabyte);
  keeping.complete(fd);
  CHECK(bytes_in_cache(fd, 8 * kMegabyte, end) == end - 8 * kMegabyte);
  leaving.complete(fd);
  CHECK(bytes_in_cache(fd, 0, end) == 0);
  ::close(fd);
}

TEST_CASE("output file: what is to leave the cache has left it when the file has its name") {
  const ScratchFolder scratch;
  if (!has_disk(scratch.path())) return;
  const std::vector<char> text(3 * kMegabyte, 'x');
  for (const bool leaves : {false, true}) {
    CAPTURE(leaves);
    file::OutputFile file(scratch / "a");
    const file::WritePiece piece{text.data(), text.size()};
    if (leaves) file.leave_cache();
    file.write(0, {&piece, 1});
    file.commit();
    const int fd = ::open((scratch / "a").c_str(), O_RDONLY);
    REQUIRE(fd >= 0);
    CHECK(bytes_in_cache(fd, 0, text.size()) == (leaves ? 0 : text.size()));
    ::close(fd);
  }
}
