#include <doctest/doctest.h>
#include <fcntl.h>

#include <numeric>
#include <thread>

#include "base/error.h"
#include "unit/index/index_file_common.h"

using namespace warpmer;
using namespace warpmer::index;
using namespace warpmer::index::test;

namespace {

/// The content of a file whose shards were put in a random order by several threads.
std::string scrambled_content(const Sample& sample, const std::string& path, unsigned threads,
                              std::uint64_t seed) {
  std::vector<std::uint32_t> order(sample.params.shards());
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
  IndexWriter writer(path, sample.params);
  std::vector<std::thread> pool;
  for (unsigned t = 0; t < threads; ++t) {
    pool.emplace_back([&, t] {
      for (std::size_t i = t; i < order.size(); i += threads) {
        // Empty shards may be put or left out.
        const FrozenShard& shard = sample.shards[order[i]];
        if (shard.payload.empty() && seed % 2 == 0) continue;
        writer.put(order[i], FrozenShard(shard));
      }
    });
  }
  for (std::thread& thread : pool) thread.join();
  writer.finish(sample.totals, sample.histogram, {"9.9", std::string(seed % 50, 'x'), {}});
  CHECK(writer.bytes_waiting() == 0);
  CHECK(writer.bytes_written() == std::filesystem::file_size(path));
  const IndexFile file(path);
  return read_bytes(path).substr(0, file.content_bytes());
}

/// Reads an index through a pipe.
void check_through_pipe(const Sample& sample, const std::string& bytes) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  std::thread feeder([&] {
    for (std::size_t done = 0; done < bytes.size();) {
      // Odd pieces, so that reads are short.
      const ssize_t n =
          ::write(ends[1], bytes.data() + done, std::min<std::size_t>(bytes.size() - done, 1237));
      if (n < 0) break;
      done += static_cast<std::size_t>(n);
    }
    ::close(ends[1]);
  });
  const IndexFile file("/dev/fd/" + std::to_string(ends[0]));
  feeder.join();
  ::close(ends[0]);
  CHECK(file.file_bytes() == bytes.size());
  for (std::uint32_t i = 0; i < sample.params.shards(); ++i) file.release(i);
  CHECK(same_shards(file, sample));
  for (std::uint32_t i = 0; i < sample.params.shards(); ++i) file.release(i);
  CHECK(same_shards(file, sample));
}

}  // namespace

TEST_CASE("index file: everything comes back") {
  const ScratchFolder scratch;
  for (const std::uint32_t shard_bits : {0u, 3u, 6u}) {
    const Sample sample = make_sample(11, shard_bits, 300);
    write_sample(sample, scratch / "a.wmi");
    IndexFile moved(scratch / "a.wmi");
    const IndexFile file(std::move(moved));
    CHECK(file.path() == scratch / "a.wmi");
    CHECK(file.params().k == 11);
    CHECK(file.params().canonical);
    CHECK(file.params().minimizer_length == 11);
    CHECK(file.params().shard_bits == shard_bits);
    CHECK(file.params().hash_version == kHashVersion);
    CHECK(file.totals().stored_kmers == sample.totals.stored_kmers);
    CHECK(file.totals().max_count == UINT64_MAX);
    CHECK(file.totals().records == 17);
    CHECK(file.histogram() == sample.histogram);
    CHECK(file.provenance().tool_version == "0.1.0");
    CHECK(file.provenance().command_line == "warpmer count -k 11 a.fq");
    CHECK(file.provenance().inputs == sample_provenance().inputs);
    CHECK(file.file_bytes() == std::filesystem::file_size(file.path()));
    CHECK(file.content_bytes() < file.file_bytes());
    CHECK(same_shards(file, sample));
    for (std::uint32_t i = 0; i < sample.params.shards(); ++i) {
      CHECK(file.shape(i) == sample.shards[i].shape);
      CHECK(reinterpret_cast<std::uintptr_t>(file.shard(i).payload) % 8 == 0);
    }
    CHECK_THROWS_AS((void)file.shard(sample.params.shards()), InternalError);
    CHECK_THROWS_AS((void)file.shape(sample.params.shards()), InternalError);
    CHECK(scratch.files() == 1);
  }
}

TEST_CASE("index file: bounds are never narrower than the counts, whatever a file says") {
  const ScratchFolder scratch;
  Sample sample = make_sample(12, 2, 300);
  const auto bounds_of = [&](std::uint64_t least, std::uint64_t most) {
    sample.totals.min_count = least;
    sample.totals.max_count = most;
    write_sample(sample, scratch / "a.wmi");
    const IndexFile file(scratch / "a.wmi");
    return std::pair(file.totals().min_count, file.totals().max_count);
  };
  const std::uint64_t least = sample.histogram.begin()->first, most = sample.totals.largest_count;
  CHECK(bounds_of(1, UINT64_MAX) == std::pair<std::uint64_t, std::uint64_t>(1, UINT64_MAX));
  CHECK(bounds_of(least, most) == std::pair(least, most));
  CHECK(bounds_of(least + 1, most - 1) == std::pair(least, most));
}

TEST_CASE("index file: an index of nothing") {
  const ScratchFolder scratch;
  for (const std::uint32_t k : {1u, 12u, 31u, 64u}) {
    Sample sample;
    sample.params = {
        .k = k, .canonical = false, .minimizer_length = minimizer_length(k), .shard_bits = shard_bits(k)};
    sample.shards.resize(sample.params.shards());
    write_sample(sample, scratch / "empty.wmi", {});
    const IndexFile file(scratch / "empty.wmi");
    CHECK(!file.params().canonical);
    CHECK(file.params().k == k);
    CHECK(file.histogram().empty());
    CHECK(file.provenance().inputs.empty());
    bool is_empty = true;
    for (std::uint32_t shard = 0; shard < file.params().shards(); ++shard) {
      is_empty =
          is_empty && file.kmers(shard) == 0 && file.payload_words(shard) == 0 &&
          (k > kMaxDenseK ? file.strings(shard).layout.buckets == 0 : same_shard(file.shard(shard), {}));
    }
    CHECK(is_empty);
  }
}

TEST_CASE("index file: the content does not depend on threads, order or provenance") {
  const ScratchFolder scratch;
  const Sample sample = make_sample(12, 8, 200);
  write_sample(sample, scratch / "first.wmi");
  const IndexFile first(scratch / "first.wmi");
  const std::string expected = read_bytes(first.path()).substr(0, first.content_bytes());
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::string path = scratch / "again.wmi";
    CHECK(scrambled_content(sample, path, 1 + seed % 4, seed) == expected);
    CHECK(IndexFile(path).content_checksum() == first.content_checksum());
  }
  Sample otherwise = sample;  // the same k-mers and counts, of more reads and after a filter
  otherwise.totals.records += 7;
  otherwise.totals.counted_kmers += 11;
  otherwise.totals.counted_distinct += 11;
  write_sample(otherwise, scratch / "otherwise.wmi");
  CHECK(IndexFile(scratch / "otherwise.wmi").content_checksum() == first.content_checksum());
  const Sample other = make_sample(12, 8, 200, 2);
  write_sample(other, scratch / "other.wmi");
  CHECK(IndexFile(scratch / "other.wmi").content_checksum() != first.content_checksum());
}

TEST_CASE("index file: a thread waits until its shard has a place, few bytes wait, or waiting is cancelled") {
  const ScratchFolder scratch;
  const Sample sample = make_sample(11, 2, 100);
  IndexWriter writer(scratch / "a.wmi", sample.params);
  const auto put = [&](std::uint32_t shard) { writer.put(shard, FrozenShard(sample.shards[shard])); };
  std::atomic<int> over{0};
  const auto begin_to_wait = [&](std::uint32_t shard, std::uint64_t most_bytes) {
    return std::thread([&, shard, most_bytes] {
      writer.wait_for_place(shard, most_bytes);
      ++over;
    });
  };
  put(1);
  put(3);
  writer.wait_for_place(3, writer.bytes_waiting());
  std::thread placed = begin_to_wait(1, 0);
  std::thread few = begin_to_wait(3, writer.bytes_waiting() - 1);
  std::thread cancelled = begin_to_wait(3, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(over == 0);
  put(0);
  placed.join();
  few.join();
  CHECK(over == 2);
  writer.cancel_waiting();
  cancelled.join();
  CHECK(over == 3);
}

TEST_CASE("index file: shards wait for the ones before them") {
  const ScratchFolder scratch;
  const Sample sample = make_sample(11, 2, 100);
  IndexWriter writer(scratch / "a.wmi", sample.params);
  writer.put(3, FrozenShard(sample.shards[3]));
  writer.put(1, FrozenShard(sample.shards[1]));
  CHECK(writer.bytes_waiting() == 8 * (sample.shards[1].payload.size() + sample.shards[3].payload.size()));
  writer.put(0, FrozenShard(sample.shards[0]));
  CHECK(writer.bytes_waiting() == 8 * sample.shards[3].payload.size());
  CHECK_THROWS_AS(writer.put(0, {}), InternalError);
  CHECK_THROWS_AS(writer.put(3, {}), InternalError);
  CHECK_THROWS_AS(writer.put(4, {}), InternalError);
  writer.finish(sample.totals, sample.histogram, {});
  CHECK(writer.bytes_waiting() == 0);
  CHECK_THROWS_AS(writer.put(2, {}), InternalError);
  CHECK(same_shards(IndexFile(scratch / "a.wmi"), sample));
}

TEST_CASE("index file: the writer refuses what it could not read") {
  const ScratchFolder scratch;
  const Sample sample = make_sample(11, 0, 100);
  {
    IndexWriter writer(scratch / "a.wmi", sample.params);
    FrozenShard shard = sample.shards[0];
    shard.payload.push_back(0);
    CHECK_THROWS_AS(writer.put(0, std::move(shard)), InternalError);
    writer.put(0, FrozenShard(sample.shards[0]));
    Totals totals = sample.totals;
    ++totals.stored_kmers;
    CHECK_THROWS_AS(writer.finish(totals, sample.histogram, {}), InternalError);
  }
  CHECK_THROWS_AS(IndexWriter(scratch / "a.wmi", {.k = 65}), InternalError);
  CHECK_THROWS_AS(IndexWriter(scratch / "a.wmi", {.k = 31, .shard_bits = 30}), InternalError);
  CHECK(scratch.files() == 0);
}

/// Returns the number of this process's descriptors, and of one that is open while they are counted.
std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                       std::filesystem::directory_iterator());
}

TEST_CASE("index file: reading from a pipe") {
  const ScratchFolder scratch;
  const Sample small = make_sample(11, 2, 20);
  write_sample(small, scratch / "a.wmi");
  check_through_pipe(small, read_bytes(scratch / "a.wmi"));
  const Sample large = make_sample(12, 6, 12000);
  write_sample(large, scratch / "b.wmi");
  const std::string bytes = read_bytes(scratch / "b.wmi");
  CHECK(bytes.size() > std::size_t{1} << 20);
  check_through_pipe(large, bytes);
}

TEST_CASE("index file: standard input, as a file and refused early as a stream") {
  const ScratchFolder scratch;
  const Sample sample = make_sample(11, 2, 20);
  write_sample(sample, scratch / "a.wmi");
  const int saved = ::dup(STDIN_FILENO);
  const int fd = ::open((scratch / "a.wmi").c_str(), O_RDONLY);
  ::dup2(fd, STDIN_FILENO);
  ::close(fd);
  for (const char* name : {"-", "/dev/stdin"}) {
    const IndexFile file(name);
    CHECK(same_shards(file, sample));
    const std::ptrdiff_t descriptors = open_descriptors();
    for (std::uint32_t i = 0; i < sample.params.shards(); ++i)
      CHECK(copy_of(file, i) == sample.shards[i].payload);
    CHECK(open_descriptors() == descriptors);  // one does for copies, too
  }
  // A pipe that never ends is refused by its first bytes.
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  REQUIRE(::write(ends[1], std::string(64, '@').data(), 64) == 64);
  ::dup2(ends[0], STDIN_FILENO);
  CHECK_THROWS_WITH_AS(IndexFile("-"),
                       "standard input is not a warpmer index: it does not begin like one; make one with "
                       "'warpmer count', or with 'warpmer convert' of what another program has counted",
                       InputError);
  ::close(ends[0]);
  ::close(ends[1]);
  ::dup2(saved, STDIN_FILENO);
  ::close(saved);
}

TEST_CASE("index round trip: shards are copied from the file, whatever is under its name by then") {
  const ScratchFolder scratch;
  const Sample sample = make_sample(12, 3, 300);
  write_sample(sample, scratch / "a.wmi");
  const auto copies_are_right = [&](const IndexFile& file) {
    for (std::uint32_t i = 0; i < sample.params.shards(); ++i) {
      if (copy_of(file, i) != sample.shards[i].payload) return false;
    }
    return true;
  };
  const IndexFile file(scratch / "a.wmi"), renamed(scratch / "a.wmi"), replaced(scratch / "a.wmi");
  CHECK(copies_are_right(file));
  std::filesystem::rename(scratch / "a.wmi", scratch / "b.wmi");
  CHECK(copies_are_right(renamed));
  write_sample(make_sample(12, 3, 300, 2), scratch / "a.wmi");
  CHECK(copies_are_right(replaced));
  CHECK(copies_are_right(file));
}

TEST_CASE("index file: released shards come back, and threads may share a file") {
  const ScratchFolder scratch;
  const Sample sample = make_sample(12, 5, 3000);
  write_sample(sample, scratch / "a.wmi");
  const IndexFile file(scratch / "a.wmi");
  std::vector<std::thread> pool;
  std::vector<int> good(4);
  for (std::size_t t = 0; t < good.size(); ++t) {
    pool.emplace_back([&, t] {
      for (std::uint32_t i = 0; i < sample.params.shards(); ++i) {
        const std::uint32_t shard = (i + static_cast<std::uint32_t>(t)) % sample.params.shards();
        good[t] += same_shard(file.shard(shard), sample.shards[shard]);
        file.release(shard);
      }
    });
  }
  for (std::thread& thread : pool) thread.join();
  CHECK(good == std::vector<int>(4, 32));
  file.release(1000);
}

namespace {

/// A payload of a sample, some words at a time.
struct InPieces : PayloadSource {
  explicit InPieces(const FrozenShard& shard) : left(shard.payload) {}
  std::span<const std::uint64_t> next() override {
    const auto some = left.first(std::min<std::size_t>(7, left.size()));
    left = left.subspan(some.size());
    return some;
  }
  std::span<const std::uint64_t> left;
};

std::vector<ShardShape> shapes_of(const Sample& sample, std::uint32_t first, std::uint32_t end) {
  std::vector<ShardShape> shapes;
  for (std::uint32_t i = first; i < end; ++i) shapes.push_back(sample.shards[i].shape);
  return shapes;
}

}  // namespace

TEST_CASE("index file: shards that were announced go to their places in any order") {
  const ScratchFolder scratch;
  const Sample sample = make_sample(12, 5, 400);
  write_sample(sample, scratch / "usual.wmi");
  IndexWriter writer(scratch / "announced.wmi", sample.params, 4);
  writer.announce(8, shapes_of(sample, 8, 32));
  CHECK(!writer.has_offset(8));  // where it begins is not known
  writer.put(9, FrozenShard(sample.shards[9]));
  CHECK(writer.bytes_waiting() > 0);
  writer.announce(0, shapes_of(sample, 0, 7));
  CHECK(writer.has_offset(6));
  CHECK(!writer.has_offset(8));
  writer.put(7, FrozenShard(sample.shards[7]));
  for (const std::uint32_t shard : {0, 6, 8, 31}) CHECK(writer.has_offset(shard));
  CHECK(!writer.has_offset(9));
  CHECK(writer.bytes_waiting() == 0);
  std::vector<std::thread> threads;
  for (std::uint32_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::uint32_t i = 32; i-- > 0;) {
        if (i % 4 != thread || i == 7 || i == 9) continue;
        const FrozenShard& shard = sample.shards[i];
        // A source lives as long as the call.
        InPieces pieces(shard);
        const std::shared_ptr<PayloadSource> source(std::shared_ptr<void>(), &pieces);
        writer.put(i, i % 3 == 0 ? FrozenShard(shard) : FrozenShard{shard.shape, {}, source});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  writer.finish(sample.totals, sample.histogram, sample_provenance());
  CHECK(read_bytes(scratch / "announced.wmi") == read_bytes(scratch / "usual.wmi"));
}

TEST_CASE("index file: what was announced is what has to come, once") {
  const ScratchFolder scratch;
  const Sample sample = make_sample(12, 3, 40);
  IndexWriter writer(scratch / "a.wmi", sample.params);
  writer.announce(0, shapes_of(sample, 0, 2));
  CHECK_THROWS_AS(writer.announce(1, shapes_of(sample, 1, 2)), InternalError);
  CHECK_THROWS_AS(writer.announce(7, shapes_of(sample, 0, 2)), InternalError);  // there are eight
  CHECK_THROWS_AS(writer.put(0, FrozenShard(sample.shards[1])), InternalError);
  writer.put(1, FrozenShard(sample.shards[1]));
  CHECK_THROWS_AS(writer.put(1, FrozenShard(sample.shards[1])), InternalError);
  writer.put(3, FrozenShard(sample.shards[3]));
  CHECK_THROWS_AS(writer.announce(3, shapes_of(sample, 3, 4)), InternalError);
  IndexWriter lacking(scratch / "b.wmi", sample.params);
  lacking.announce(0, shapes_of(sample, 0, 2));
  lacking.put(1, FrozenShard(sample.shards[1]));
  CHECK_THROWS_AS(lacking.finish(sample.totals, sample.histogram, {}), InternalError);
}

TEST_CASE(
    "index file: a stream takes shards in order, whatever was announced; the null device does not mind") {
  const Sample sample = make_sample(12, 3, 40);
  const ScratchFolder scratch;
  REQUIRE(::mkfifo((scratch / "pipe").c_str(), 0600) == 0);
  std::thread reader([&] { read_bytes(scratch / "pipe"); });
  {
    IndexWriter writer(scratch / "pipe", sample.params);
    writer.announce(0, shapes_of(sample, 0, 8));
    CHECK(!writer.has_offset(0));
    for (std::uint32_t i = 8; i-- > 0;) writer.put(i, FrozenShard(sample.shards[i]));
    writer.finish(sample.totals, sample.histogram, {});
  }
  reader.join();
  IndexWriter writer("/dev/null", sample.params);
  writer.announce(0, shapes_of(sample, 0, 8));
  for (std::uint32_t i = 8; i-- > 0;) {
    CHECK(writer.has_offset(i));
    writer.put(i, FrozenShard(sample.shards[i]));
  }
  writer.finish(sample.totals, sample.histogram, {});
}
