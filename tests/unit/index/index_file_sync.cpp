// Outputs are on the disk before they get their names.

#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <functional>

#include "base/error.h"
#include "unit/index/index_file_common.h"

using namespace warpmer;
using namespace warpmer::index;
using namespace warpmer::index::test;

namespace {

int sync_error = 0;          ///< error with which syncing fails; 0: none
std::atomic<int> syncs = 0;  ///< by any test's threads
std::function<void()> on_sync = [] {};

}  // namespace

/// In front of the C library's.
extern "C" int fdatasync(int fd) {
  ++syncs;
  on_sync();
  if (sync_error == 0) return static_cast<int>(syscall(SYS_fdatasync, fd));
  errno = sync_error;
  return -1;
}

TEST_CASE("index output: a file is synced before it gets its name, a stream is not") {
  const ScratchFolder scratch;
  const Sample sample = make_sample(11, 2, 20);
  bool is_named = false;
  on_sync = [&] { is_named = std::filesystem::exists(scratch / "a.wmi"); };
  syncs = 0;
  write_sample(sample, scratch / "a.wmi");
  on_sync = [] {};
  CHECK(syncs == 1);
  CHECK_FALSE(is_named);
  CHECK(same_shards(IndexFile(scratch / "a.wmi"), sample));
  write_sample(sample, "/dev/null");
  CHECK(syncs == 1);
}

TEST_CASE("index output: what the disk refuses when it is synced is an error, and an older file stays") {
  const ScratchFolder scratch;
  const Sample sample = make_sample(11, 2, 20);
  for (const int error : {ENOSPC, EDQUOT, EIO}) {
    CAPTURE(error);
    write_bytes(scratch / "a.wmi", "older");
    sync_error = error;
    const std::string message = refusal<ResourceError>([&] { write_sample(sample, scratch / "a.wmi"); });
    sync_error = 0;
    CHECK(says(message, "cannot complete"));
    CHECK(says(message, "a.wmi"));
    CHECK(read_bytes(scratch / "a.wmi") == "older");
    CHECK(scratch.files() == 1);
  }
  sync_error = EINVAL;  // file systems that cannot
  write_sample(sample, scratch / "b.wmi");
  sync_error = 0;
  CHECK(same_shards(IndexFile(scratch / "b.wmi"), sample));
}
