// The spill file, and pending words that go there and come back.

#include "file/spill_file.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "cpu/count/spilled_runs.h"
#include "cpu/count/spilled_words.h"
#include "index/file_frame.h"
#include "scratch_folder.h"
#include "system/nameless_file.h"
#include "unit/file_size_limit.h"

using namespace warpmer;
namespace fs = std::filesystem;

namespace {

std::vector<char> noise(std::size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<char> text(bytes);
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

file::Spilled put(file::SpillFile& file, const std::vector<char>& bytes) {
  const std::size_t half = bytes.size() / 2;
  const file::WritePiece pieces[] = {{bytes.data(), half}, {bytes.data() + half, bytes.size() - half}};
  const std::uint64_t at = file.allocate(bytes.size());
  file.write(at, pieces);
  return {at, bytes.size(), file::checksum(bytes.data(), bytes.size())};
}

/// A way into the open file in a folder that has no name there.
int open_nameless(const std::string& folder) {
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = fs::read_symlink(entry.path(), gone).string();
    if (target.starts_with(folder + "/")) return ::open(entry.path().c_str(), O_RDWR);
  }
  return -1;
}

}  // namespace

TEST_CASE("spill file: what several threads write is what they read, and there is never a name") {
  const tests::ScratchFolder folder;
  file::SpillFile file(folder.path());
  CHECK(folder.files() == 0);
  std::vector<std::thread> team;
  std::atomic<unsigned> right{0};
  for (unsigned t = 0; t < 3; ++t) {
    team.emplace_back([&, t] {
      std::vector<file::Spilled> places;
      for (unsigned i = 0; i < 20; ++i) places.push_back(put(file, noise(1000 * i + t, 100 * t + i)));
      for (unsigned i = 0; i < 20; ++i) {
        std::vector<char> back(places[i].bytes);
        file.read(places[i], back.data());
        right += back == noise(1000 * i + t, 100 * t + i) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : team) thread.join();
  CHECK(right == 60);
  CHECK(file.bytes_written() == 3 * 190000 + 20 * 3);
  CHECK(file.bytes_read() == file.bytes_written());
  CHECK(folder.files() == 0);
}

TEST_CASE("spill file: more pieces than one write takes") {
  const tests::ScratchFolder folder;
  file::SpillFile file(folder.path());
  const std::vector<char> text = noise(3000, 1);
  std::vector<file::WritePiece> pieces;
  pieces.reserve(text.size());
  for (const char& c : text) pieces.push_back({&c, 1});
  const std::uint64_t at = file.allocate(text.size());
  file.write(at, pieces);
  std::vector<char> back(text.size());
  file.read({at, text.size(), file::checksum(pieces)}, back.data());
  CHECK((back == text));
}

TEST_CASE("spill file: damaged or missing bytes are noticed when they are read") {
  const tests::ScratchFolder folder;
  file::SpillFile file(folder.path());
  const file::Spilled place = put(file, noise(100000, 2));
  std::vector<char> back(place.bytes);
  const int damage = open_nameless(folder.path());
  REQUIRE(damage >= 0);
  REQUIRE(::pwrite(damage, "\x01\x02", 2, 70000) == 2);
  CHECK_THROWS_WITH_AS(file.read(place, back.data()), doctest::Contains(folder.path().c_str()),
                       ResourceError);
  REQUIRE(::ftruncate(damage, 50000) == 0);
  CHECK_THROWS_WITH_AS(file.read(place, back.data()), doctest::Contains("50000 more bytes"), ResourceError);
  ::close(damage);
}

TEST_CASE("spill file: a full disk's error names all that was still to be written") {
  const tests::ScratchFolder folder;
  file::SpillFile file(folder.path());
  put(file, noise(1000, 4));
  file.allocate(500);  // another thread's, about to be written
  const tests::FileSizeLimit limit(2000);
  // 500 of these have room.
  CHECK_THROWS_WITH_AS(put(file, noise(3000, 5)),
                       doctest::Contains("cannot write 3000 more bytes, after 1500, of the temporary file"),
                       ResourceError);
}

TEST_CASE("spill file: a directory that is not there is made and removed; one that cannot be is named") {
  const tests::ScratchFolder folder;
  {
    file::SpillFile file(folder / "new");
    CHECK(!fs::exists(folder / "new"));
    const file::Spilled place = put(file, noise(5000, 3));
    std::vector<char> back(place.bytes);
    file.read(place, back.data());
    CHECK((back == noise(5000, 3)));
  }
  CHECK(folder.files() == 0);
  for (const std::string& bad : {folder / "not/there", std::string("/proc/self/status")})
    CHECK_THROWS_WITH_AS(file::SpillFile{bad}, doctest::Contains(bad.c_str()), ResourceError);
}

TEST_CASE("spill file: several at once in a directory that is not there") {
  const tests::ScratchFolder folder;
  std::atomic<int> made{0};
  std::vector<std::thread> threads;
  threads.reserve(6);
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 300; ++i) {
        try {
          const file::SpillFile file(folder / "new");
          ++made;
        } catch (const ResourceError&) {
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(made == 6 * 300);
  // A file that has a name for a moment may keep whoever made the directory from removing it.
  const int nameless = system::open_nameless(folder.path(), 0600);
  if (nameless < 0) return;
  ::close(nameless);
  CHECK(folder.files() == 0);
}

TEST_CASE("frozen runs come back from the spill file, the last one first") {
  const tests::ScratchFolder folder;
  file::SpillFile file(folder.path());
  constexpr std::uint32_t kShards = 3;
  std::vector<cpu::SpilledRuns> spilled(kShards);
  std::vector<std::vector<std::vector<std::uint64_t>>> expected(kShards);
  std::uint64_t bytes = 0;
  for (const std::size_t size : {1u, 100u, 5000u, 7u}) {
    std::vector<index::FrozenShard> runs(kShards - 1);
    for (std::uint32_t shard = 0; shard + 1 < kShards; ++shard) {
      for (std::size_t i = 0; i < size + shard; ++i) runs[shard].payload.push_back(i * 1000 + shard);
      runs[shard].sizes.kmers = 3 * size;
      runs[shard].sizes.words = size + shard;
      expected[shard].insert(expected[shard].begin(), runs[shard].payload);
    }
    cpu::RunBatch batch;
    CHECK(batch.is_empty());
    for (std::uint32_t shard = 0; shard + 1 < kShards; ++shard)
      batch.add(spilled[shard], runs[shard], runs[shard].sizes.kmers);
    const cpu::Extent written = batch.write(file);
    CHECK(written.offset == bytes);
    bytes += written.bytes;
  }
  CHECK(file.bytes_written() == bytes);
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    std::uint64_t entries = 0;
    double seconds = 0;
    std::vector<std::vector<std::uint64_t>> seen;
    cpu::for_each_run(file, spilled[shard].last, seconds, [&](const index::FrozenShard& run) {
      REQUIRE(run.payload.size() >= run.sizes.words + warpmer::kReadAheadWords);
      const auto begin = run.payload.begin();
      seen.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(run.sizes.words));
      entries += run.sizes.kmers;
    });
    CHECK(seen == expected[shard]);
    CHECK(spilled[shard].entries == entries);
  }
  CHECK(file.bytes_read() == bytes);
}

TEST_CASE("pending words come back from the spill file, in chunks of any size") {
  const tests::ScratchFolder folder;
  file::SpillFile file(folder.path());
  cpu::PagePool pool;
  cpu::PageStock stock(pool, 16);
  using Word = groups::FlankedWord<2>;
  constexpr std::uint32_t kK = 32;
  const groups::GroupShape shape(kK);
  const groups::FlankedWordFormat<2> format(shape);
  const cpu::StoredFlankedFormat<2> stored_format(shape);
  // A word of one k-mer, which says all of a number.
  const std::uint32_t n = shape.flank_bases();
  const auto word_of = [&](std::uint64_t number) {
    return format.pack(static_cast<std::uint32_t>(number >> (2 * n)),
                       {0, n, 0, number & key_mask<Key64>(n), 0});
  };
  cpu::PendingStore<Word> pending(pool, 3, kK);
  std::vector<cpu::SpilledWords> spilled(3);
  cpu::SpilledExtents extents;
  std::vector<std::vector<std::uint64_t>> expected(3);
  std::mt19937_64 random(4);
  const auto append = [&](std::uint32_t shard, std::size_t words) {
    for (std::size_t i = 0; i < words; ++i) {
      expected[shard].push_back(random() >> (64 - shape.rest_bits() - 2 * n));
      const Word word = word_of(expected[shard].back());
      pending.append(shard, &word, 1, stock);
    }
  };
  for (const std::size_t words : {1u, 255u, 256u, 9000u}) {
    cpu::SliceBatch<Word> batch(file, extents, pending);
    for (std::uint32_t shard = 0; shard < 2; ++shard) {
      append(shard, words);
      batch.add(spilled[shard], pending.take(shard));
    }
    batch.flush();
  }
  for (std::uint32_t shard = 0; shard < 3; ++shard) append(shard, 600);  // which stay in memory
  for (const std::uint64_t chunk : {std::uint64_t{1}, std::uint64_t{3000}, UINT64_MAX / 2}) {
    CAPTURE(chunk);
    for (std::uint32_t shard = 0; shard < 3; ++shard) {
      cpu::Scratch<char> buffer;
      double seconds = 0;
      const cpu::PendingList<Word> list = pending.take(shard);
      std::vector<std::uint64_t> seen;
      {
        cpu::ShardWords<Word> words(pending.format(), list, pool, spilled[shard], &file, buffer, seconds);
        CHECK(words.left() == expected[shard].size());
        while (words.left() > 0) {
          words.begin_chunk(chunk);
          words.for_each_page([&](const cpu::StoredFlankedWord<2>* first, std::size_t size) {
            CHECK(size <= cpu::PendingPage<Word>::kCapacity);
            for (std::size_t i = 0; i < size; ++i) {
              const std::uint64_t rest = stored_format.rest(first[i]);
              seen.push_back(rest << (2 * n) | stored_format.super_kmer(first[i]).left);
            }
          });
        }
      }
      std::sort(seen.begin(), seen.end());
      std::vector<std::uint64_t> all = expected[shard];
      std::sort(all.begin(), all.end());
      CHECK((seen == all));
      for (const std::uint64_t value :
           std::vector<std::uint64_t>(expected[shard].end() - 600, expected[shard].end())) {
        const Word word = word_of(value);
        pending.append(shard, &word, 1, stock);
      }
    }
  }
  // 600 words of 8 bytes are two pages.
  CHECK(pool.bytes_in_use() == (stock.size() + 3 * 2) * cpu::PagePool::kPageBytes);
}
