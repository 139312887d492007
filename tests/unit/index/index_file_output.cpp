#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <thread>

#include "base/error.h"
#include "file/output/temp_file_registry.h"
#include "index/index_layout.h"
#include "system/nameless_file.h"
#include "unit/file_size_limit.h"
#include "unit/index/index_file_common.h"

using namespace warpmer;
using namespace warpmer::file;
using namespace warpmer::index;
using namespace warpmer::index::test;

namespace {

/// Sends standard output elsewhere while it lives.
class RedirectedOutput {
 public:
  explicit RedirectedOutput(int fd) : saved_(::dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    ::dup2(fd, STDOUT_FILENO);
  }
  ~RedirectedOutput() {
    ::dup2(saved_, STDOUT_FILENO);
    ::close(saved_);
  }
  RedirectedOutput(const RedirectedOutput&) = delete;
  RedirectedOutput& operator=(const RedirectedOutput&) = delete;

 private:
  int saved_;
};

std::string drain(int fd) {
  std::string all;
  char buffer[4096];
  for (ssize_t n; (n = ::read(fd, buffer, sizeof buffer)) > 0;)
    all.append(buffer, static_cast<std::size_t>(n));
  return all;
}

void put_in_reverse(IndexWriter& writer, const Sample& sample) {
  for (std::uint32_t i = sample.params.shards(); i-- > 0;) writer.put(i, FrozenShard(sample.shards[i]));
}

}  // namespace

TEST_CASE("index output: standard output, through a pipe and into a file") {
  const ScratchFolder scratch;
  const Sample sample = make_sample(12, 6, 3000);
  write_sample(sample, scratch / "a.wmi");
  const std::string expected = read_bytes(scratch / "a.wmi");
  for (const char* name : {"-", "/dev/stdout"}) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    std::string received;
    std::thread reader([&] { received = drain(ends[0]); });
    {
      const RedirectedOutput redirected(ends[1]);
      ::close(ends[1]);
      IndexWriter writer(name, sample.params);
      put_in_reverse(writer, sample);
      writer.finish(sample.totals, sample.histogram, sample_provenance());
    }
    reader.join();
    ::close(ends[0]);
    CHECK(received == expected);
  }
  const int fd = ::open((scratch / "b.wmi").c_str(), O_WRONLY | O_CREAT, 0666);
  {
    const RedirectedOutput redirected(fd);
    write_sample(sample, "-");
  }
  ::close(fd);
  CHECK(read_bytes(scratch / "b.wmi") == expected);
}

TEST_CASE("index output: a pipe whose reader has gone, and a job that fails before its first shard") {
  const auto old_handler = std::signal(SIGPIPE, SIG_IGN);
  const Sample sample = make_sample(11, 2, 20);
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  {
    const RedirectedOutput redirected(ends[1]);
    IndexWriter abandoned("-", sample.params);
  }
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  CHECK(drain(ends[0]).empty());
  ::close(ends[0]);
  {
    const RedirectedOutput redirected(ends[1]);
    IndexWriter writer("-", sample.params);
    CHECK_THROWS_WITH_AS(writer.put(0, FrozenShard(sample.shards[0])), doctest::Contains("Broken pipe"),
                         ResourceError);
    CHECK_THROWS_AS(writer.put(1, FrozenShard(sample.shards[1])), ResourceError);
    CHECK_THROWS_AS(writer.finish(sample.totals, sample.histogram, {}), ResourceError);
  }
  ::close(ends[1]);
  std::signal(SIGPIPE, old_handler);
}

TEST_CASE("index output: nothing is left of an unfinished file") {
  const ScratchFolder scratch;
  const Sample sample = make_sample(11, 2, 20);
  write_bytes(scratch / "old.wmi", "something of the user's");
  {
    IndexWriter writer(scratch / "old.wmi", sample.params);
    put_in_reverse(writer, sample);
    CHECK(scratch.files() <= 2);
    CHECK(std::filesystem::exists(writer.temporary()));
    CHECK(scratch.files() == 2);
    CHECK(read_bytes(scratch / "old.wmi") == "something of the user's");
  }
  CHECK(scratch.files() == 1);
  CHECK(read_bytes(scratch / "old.wmi") == "something of the user's");
  write_sample(sample, scratch / "old.wmi");
  CHECK(scratch.files() == 1);
  CHECK(same_shards(IndexFile(scratch / "old.wmi"), sample));
}

TEST_CASE("index output: a signal handler can remove what is unfinished, and only that") {
  const ScratchFolder scratch;
  const Sample sample = make_sample(11, 2, 20);
  write_sample(sample, scratch / "done.wmi");
  {
    // More at once than the register holds: the rest is removed by the destructors.
    std::vector<std::unique_ptr<IndexWriter>> writers;
    writers.reserve(40);
    for (int i = 0; i < 40; ++i) {
      writers.push_back(std::make_unique<IndexWriter>(scratch / std::to_string(i), sample.params));
      CHECK(!writers.back()->temporary().empty());
    }
    CHECK(scratch.files() == 41);
    remove_temp_files();
    CHECK(scratch.files() <= 1 + 8);
    remove_temp_files();
    CHECK_THROWS_AS(writers[0]->finish({}, {}, {}), ResourceError);
  }
  CHECK(scratch.files() == 1);
  // From a handler, in a process that then dies.
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGTERM, [](int) {
      remove_temp_files();
      ::_exit(7);
    });
    IndexWriter writer(scratch / "killed.wmi", sample.params);
    if (!writer.temporary().empty()) ::raise(SIGTERM);
    ::_exit(8);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WEXITSTATUS(status) == 7);
  CHECK(scratch.files() == 1);
  CHECK(same_shards(IndexFile(scratch / "done.wmi"), sample));
}

TEST_CASE("index output: only a complete file replaces one that was there, by whichever way") {
  const ScratchFolder scratch;
  const Sample sample = make_sample(11, 2, 20);
  const int fd = system::open_nameless(scratch.path(), 0600);
  const bool can_do_without = fd >= 0;
  if (can_do_without) ::close(fd);
  for (const bool is_named : {false, true}) {
    for (const bool was_there : {false, true}) {
      CAPTURE(is_named);
      CAPTURE(was_there);
      std::filesystem::remove(scratch / "a.wmi");
      if (was_there) write_bytes(scratch / "a.wmi", "something of the user's");
      const std::size_t before = scratch.files();
      IndexWriter writer(scratch / "a.wmi", sample.params);
      if (is_named) CHECK(std::filesystem::exists(writer.temporary()));
      if (can_do_without || is_named) CHECK(scratch.files() == before + (is_named ? 1 : 0));
      put_in_reverse(writer, sample);
      CHECK(std::filesystem::exists(scratch / "a.wmi") == was_there);
      writer.finish(sample.totals, sample.histogram, sample_provenance());
      CHECK(scratch.files() == 1);
      CHECK(same_shards(IndexFile(scratch / "a.wmi"), sample));
    }
  }
}

TEST_CASE("index output: devices and named pipes are written to, not replaced") {
  const ScratchFolder scratch;
  const Sample sample = make_sample(11, 2, 20);
  write_sample(sample, "/dev/null");
  CHECK(std::filesystem::is_character_file("/dev/null"));
  {
    IndexWriter writer("/dev/full", sample.params);
    CHECK_THROWS_WITH_AS(writer.put(0, FrozenShard(sample.shards[0])),
                         doctest::Contains("to '/dev/full': No space left on device: free some space"),
                         ResourceError);
  }
  {
    IndexWriter writer("/dev/full", sample.params);
    CHECK_THROWS_AS(writer.finish({}, {}, {}), ResourceError);
  }
  write_sample(sample, scratch / "a.wmi");
  REQUIRE(::mkfifo((scratch / "fifo").c_str(), 0600) == 0);
  std::string received;
  std::thread reader([&] {
    const int fd = ::open((scratch / "fifo").c_str(), O_RDONLY);
    received = drain(fd);
    ::close(fd);
  });
  write_sample(sample, scratch / "fifo");
  reader.join();
  CHECK(received == read_bytes(scratch / "a.wmi"));
  CHECK(std::filesystem::is_fifo(scratch / "fifo"));
}

TEST_CASE("index output: a file that cannot grow leaves nothing behind") {
  const ScratchFolder scratch;
  const Sample sample = make_sample(12, 6, 1000);
  for (const rlim_t bytes : {10u, 100u, 20000u}) {
    {
      const tests::FileSizeLimit limit(bytes);
      CHECK_THROWS_WITH_AS(write_sample(sample, scratch / "a.wmi"), doctest::Contains("File too large"),
                           ResourceError);
    }
    CHECK(scratch.files() == 0);
  }
}

TEST_CASE("index output: the error of a file that cannot grow says how much the whole one needs") {
  const ScratchFolder scratch;
  Sample sample = make_sample(12, 10, 100);
  const auto write_all = [&] {
    IndexWriter writer(scratch / "a.wmi", sample.params);
    for (std::uint32_t i = 0; i < sample.params.shards(); ++i) writer.put(i, FrozenShard(sample.shards[i]));
    writer.finish({}, {}, {});
  };
  for (const bool has_hot_shard : {false, true}) {
    CAPTURE(has_hot_shard);
    if (has_hot_shard) sample.shards[0] = make_sample(12, 1, 100'000).shards[0];
    std::uint64_t size = layout::kHeaderBytes + sample.shards.size() * layout::kEntryBytes;
    for (const FrozenShard& shard : sample.shards) size += shard.payload.size() * sizeof shard.payload[0];
    const std::string message = refusal<ResourceError>([&] {
      const tests::FileSizeLimit limit(size / 2);
      write_all();
    });
    CAPTURE(message);
    unsigned long long more = 0, written = 0;
    REQUIRE(std::sscanf(message.c_str(), "cannot write about %llu more bytes, after %llu, to", &more,
                        &written) == 2);
    CHECK(written == size / 2);
    CHECK(more > size / 2 / 5 * 4);
    CHECK(more < size / 2 / 4 * 5);
  }
}
