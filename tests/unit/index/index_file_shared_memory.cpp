// Files on a tmpfs, written by many threads.

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <atomic>
#include <thread>

#include "base/error.h"
#include "file/output/output_file.h"
#include "unit/file_size_limit.h"
#include "unit/index/index_file_common.h"

using namespace warpmer;
using namespace warpmer::file;
using namespace warpmer::index;
using namespace warpmer::index::test;

namespace {

constexpr unsigned kWriters = 8;

/// True when the folder for temporary files in memory is there, and is of the right kind.
bool has_shared_memory() {
  const int fd = ::open("/dev/shm", O_TMPFILE | O_RDWR, 0600);
  const bool is_tmpfs = fd >= 0 && SharedMemoryFile::is_one(fd);
  if (fd >= 0) ::close(fd);
  return is_tmpfs;
}

struct Part {
  std::uint64_t offset;
  std::string bytes;
};

/// Parts of a file of all sizes, those that are mapped and those that are not, in any order.
std::vector<Part> make_parts(std::size_t count) {
  std::mt19937_64 random(7);
  std::vector<Part> parts;
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::string bytes(random() % (i % 3 == 0 ? 1000 : 300'000), ' ');
    for (char& c : bytes) c = static_cast<char>(random());
    parts.push_back({offset, std::move(bytes)});
    offset += parts.back().bytes.size();
  }
  std::shuffle(parts.begin(), parts.end(), random);
  return parts;
}

void write_by_many(OutputFile& file, const std::vector<Part>& parts) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::string message;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kWriters; ++t) {
    threads.emplace_back([&] {
      try {
        for (std::size_t i; !failed && (i = next++) < parts.size();) {
          // In two pieces.
          const std::string& bytes = parts[i].bytes;
          const std::size_t half = bytes.size() / 2;
          const WritePiece pieces[] = {{bytes.data(), half}, {bytes.data() + half, bytes.size() - half}};
          file.write(parts[i].offset, pieces);
        }
      } catch (const ResourceError& error) {
        if (!failed.exchange(true)) message = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (failed) throw ResourceError(message);
}

}  // namespace

TEST_CASE("shared memory: what many threads write is all there, and nothing more") {
  if (!has_shared_memory()) {
    MESSAGE("skipped: /dev/shm is not there, or no tmpfs");
    return;
  }
  const ScratchFolder folder("/dev/shm");
  const std::vector<Part> parts = make_parts(300);
  std::string expected;
  for (const Part& part : parts) {
    expected.resize(std::max(expected.size(), part.offset + part.bytes.size()));
    expected.replace(part.offset, part.bytes.size(), part.bytes);
  }
  for (const unsigned writers : {1u, kWriters}) {
    OutputFile file(folder / "a", writers);
    write_by_many(file, parts);
    file.commit();
    CHECK(read_bytes(folder / "a") == expected);
    CHECK(SharedMemoryFile::is_one(folder / "a"));
    std::filesystem::remove(folder / "a");
    CHECK_FALSE(SharedMemoryFile::is_one(folder / "a"));
  }
  CHECK_FALSE(SharedMemoryFile::is_one("/proc/self/status"));
  const Sample sample = make_sample(12, 4, 20'000);
  write_sample(sample, folder / "one.wmi");
  {
    IndexWriter writer(folder / "many.wmi", sample.params, kWriters);
    for (std::uint32_t i = sample.params.shards(); i-- > 0;) writer.put(i, FrozenShard(sample.shards[i]));
    writer.finish(sample.totals, sample.histogram, sample_provenance());
  }
  CHECK(read_bytes(folder / "many.wmi") == read_bytes(folder / "one.wmi"));
}

TEST_CASE("shared memory: a file that may not grow leaves nothing behind") {
  if (!has_shared_memory()) return;
  const ScratchFolder folder("/dev/shm");
  const std::vector<Part> parts = make_parts(60);
  {
    const tests::FileSizeLimit limit(1 << 20);
    OutputFile file(folder / "a", kWriters);
    CHECK_THROWS_WITH_AS(write_by_many(file, parts), doctest::Contains("File too large"), ResourceError);
  }
  CHECK(folder.files() == 0);
}

TEST_CASE("shared memory: a full one is an error that says so; one that is just large enough is none") {
  const std::vector<Part> parts = make_parts(60);
  std::uint64_t bytes = 0;
  for (const Part& part : parts) bytes = std::max(bytes, part.offset + part.bytes.size());
  const ScratchFolder scratch;
  // In a process with mounts of its own: 0 all well, 1 not as it should be, 77 no mounts for us.
  const auto write_into = [&](std::uint64_t size, const std::string& expected) {
    const pid_t child = ::fork();
    if (child != 0) {
      int status = 0;
      ::waitpid(child, &status, 0);
      return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    const std::string options = "size=" + std::to_string(size);
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", scratch.path().c_str(), "tmpfs", 0, options.c_str()) != 0)
      ::_exit(77);
    std::string message = "written";
    try {
      OutputFile file(scratch / "a", kWriters);
      write_by_many(file, parts);
      file.commit();
    } catch (const ResourceError& error) {
      message = error.what();
    }
    const bool is_left = scratch.files() != (expected == "written" ? 1u : 0u);
    ::_exit(says(message, expected) && !is_left ? 0 : 1);
  };
  const int full = write_into(bytes / 2, "No space left on device: free some space");
  if (full == 77) {
    MESSAGE("skipped: no file systems can be mounted here");
    return;
  }
  CHECK(full == 0);
  CHECK(write_into((bytes / 4096 + 2) * 4096, "written") == 0);
}
