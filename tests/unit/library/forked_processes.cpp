// The public library in processes that are forked off while its threads run (Python's multiprocessing).
// ctest: release only
//
// The allocators of GCC 12's sanitizers have locks that they do not take before a fork: when another thread
// holds one at that moment, the new process waits for it for ever (TSan: one fork in some hundred).

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "unit/library/library_fixture.h"
#include "warpmer/warpmer.h"

using warpmer::Index;
using warpmer::tests::library_bases;
using warpmer::tests::LibraryFolder;

namespace {

warpmer::CountOptions some_options() {
  warpmer::CountOptions options;
  options.k = 21;
  options.threads = 2;
  options.memory_bytes = std::uint64_t{1} << 30;
  return options;
}

/// Counts bases into the folder's index, and returns its name.
std::string counted(const LibraryFolder& folder, std::size_t bases) {
  std::string path = folder / "out.wmi";
  warpmer::count({folder.fasta("counted.fa", library_bases(bases, 3))}, some_options(), path);
  return path;
}

/// True when `is_right` is, in a process that is forked off; one that waits for a thread it lacks is ended.
template <class IsRight>
bool is_right_when_forked(const IsRight& is_right) {
  const auto run_child = [&]() noexcept {
    alarm(60);
    _exit(is_right() ? 0 : 1);
  };
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) run_child();
  int status = 1;
  return waitpid(child, &status, 0) == child && status == 0;
}

template <class Work>
bool is_refused(const Work& work) {
  try {
    work();
  } catch (const warpmer::UsageError&) {
    return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a process that is forked off while another thread asks can ask, too") {
  const LibraryFolder folder;
  const std::string path = counted(folder, 1 << 18);
  for (int i = 0; i < 60; ++i) {  // now and then the thread is in the midst of checking a part
    const Index index(path);
    const auto walk = [&] { index.for_each([](std::string_view, std::uint64_t) {}); };
    std::thread asker(walk);
    std::this_thread::sleep_for(std::chrono::microseconds(20 * i));
    const bool can_ask = is_right_when_forked([&] {
      walk();
      return true;
    });
    asker.join();
    REQUIRE(can_ask);
  }
}

TEST_CASE("a reader of chunks in a forked process says what it is, and does not wait for its thread") {
  const LibraryFolder folder;
  const Index index(counted(folder, 5000));
  warpmer::ChunkReader reader(index, 1, 10);
  warpmer::PackedChunk chunk;
  REQUIRE(reader.next(chunk));
  CHECK(is_right_when_forked([&] {
    const bool refused = is_refused([&] { static_cast<void>(reader.next(chunk)); });
    const warpmer::ChunkReader gone = std::move(reader);
    return refused;
  }));
  std::size_t kmers = chunk.size;
  while (reader.next(chunk)) kmers += chunk.size;
  CHECK(kmers == index.totals().stored_distinct);
}

TEST_CASE("a process that was forked off while another thread counted cannot count") {
  const LibraryFolder folder;
  const std::string pipe = folder / "in.fifo", input = folder.fasta("in.fa", library_bases(100, 1));
  const auto count_input = [&] { warpmer::count({input}, some_options(), folder / "b.wmi"); };
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const int writer = open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  std::atomic<bool> is_reading = false, is_enough = false, has_ended = false;
  std::thread counter([&] {
    warpmer::CountOptions options = some_options();
    options.listener = [&](const warpmer::JobStatus& status) {
      is_reading = status.stage == warpmer::JobStage::reading;
      if (is_enough) throw std::out_of_range("enough");
    };
    CHECK_THROWS_AS(warpmer::count({pipe}, options, folder / "a.wmi"), std::out_of_range);
    has_ended = true;
  });
  while (!is_reading && !has_ended) std::this_thread::yield();
  CHECK(is_right_when_forked([&] { return is_refused(count_input); }));
  is_enough = true;
  counter.join();
  close(writer);
  CHECK_NOTHROW(count_input());
}
