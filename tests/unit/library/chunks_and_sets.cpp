// The public library for many k-mers at once: packed k-mers, chunks, set operations, listeners.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "unit/library/library_fixture.h"
#include "warpmer/warpmer.h"

namespace fs = std::filesystem;
using warpmer::CountRule;
using warpmer::Index;
using warpmer::SetOperation;
using warpmer::tests::damage;
using warpmer::tests::library_bases;
using warpmer::tests::LibraryFolder;

namespace {

using Words = std::vector<std::uint64_t>;
using Counts = std::map<std::string, std::uint64_t>;

/// Counts sequences without breaks, as they are read.
Counts naive_counts(const std::string& bases, std::uint32_t k) {
  Counts counts;
  for (std::size_t i = 0; i + k <= bases.size(); ++i) ++counts[bases.substr(i, k)];
  return counts;
}

/// Packs by arithmetic on digits: the lower word's 32 bases, and those above.
Words packed_naively(const std::string& kmer) {
  Words words(kmer.size() <= 32 ? 1 : 2, 0);
  for (std::size_t i = 0; i < kmer.size(); ++i) {
    std::uint64_t& word = kmer.size() - i <= 32 ? words.back() : words.front();
    word = 4 * word + std::string("ACGT").find(kmer[i]);
  }
  return words;
}

warpmer::CountOptions options_of(std::uint32_t k) {
  warpmer::CountOptions options;
  options.k = k;
  options.canonical = false;
  options.threads = 2;
  options.memory_bytes = std::uint64_t{1} << 30;
  return options;
}

std::string counted(const LibraryFolder& folder, const std::string& name, const std::string& bases,
                    std::uint32_t k) {
  warpmer::count({folder.fasta(name + ".fa", bases)}, options_of(k), folder / name);
  return folder / name;
}

Counts content_of(const std::string& path) {
  Counts counts;
  Index(path).for_each(
      [&](std::string_view kmer, std::uint64_t count) { counts[std::string(kmer)] = count; });
  return counts;
}

/// All of an index, chunk by chunk, in its order.
std::pair<Words, Words> read_chunks(const Index& index, unsigned threads, std::uint64_t kmers) {
  warpmer::ChunkReader reader(index, threads, kmers);
  warpmer::PackedChunk chunk;
  Words all, counts;
  while (reader.next(chunk)) {
    CHECK(chunk.size > 0);
    all.insert(all.end(), &chunk.kmers[0], &chunk.kmers[chunk.size * warpmer::words_per_kmer(index.k())]);
    counts.insert(counts.end(), &chunk.counts[0], &chunk.counts[chunk.size]);
  }
  CHECK_FALSE(reader.next(chunk));
  return {all, counts};
}

}  // namespace

TEST_CASE("k-mers are packed, asked for packed, and unpacked") {
  for (const std::uint32_t k : {1u, 7u, 12u, 13u, 31u, 32u, 33u, 64u}) {
    CAPTURE(k);
    const LibraryFolder folder;
    const std::string bases = library_bases(2000, k), others = library_bases(500, 99);
    const Index index(counted(folder, "a.wmi", bases, k));
    const Counts expected = naive_counts(bases, k);
    std::string texts;
    std::vector<std::string> kmers;
    Words words, counts;
    for (const std::string* source : {&bases, &others}) {
      for (std::size_t i = 0; i + k <= source->size(); ++i) {
        kmers.push_back(source->substr(i, k));
        texts += kmers.back();
        for (const std::uint64_t word : packed_naively(kmers.back())) words.push_back(word);
        const auto found = expected.find(kmers.back());
        counts.push_back(found == expected.end() ? 0 : found->second);
      }
    }
    const std::vector<std::string_view> views(kmers.begin(), kmers.end());
    CHECK(warpmer::pack(views, k) == words);
    CHECK(warpmer::unpack(words, k) == texts);
    for (const unsigned threads : {0u, 1u, 3u}) {
      CHECK(index.counts_of_packed(words, threads) == counts);
      CHECK(index.counts_of(views, threads) == counts);
      CHECK(index.counts_of(kmers, threads) == counts);
    }
  }
}

TEST_CASE("either strand of a canonical k-mer is asked for packed") {
  const LibraryFolder folder;
  warpmer::CountOptions options = options_of(5);
  options.canonical = true;
  warpmer::count({folder.fasta("in.fa", "AACCG")}, options, folder / "a.wmi");
  const Index index(folder / "a.wmi");
  const std::vector<std::string_view> strands = {"AACCG", "cggtt", "CGGUU", "AACCC"};
  CHECK(index.counts_of_packed(warpmer::pack(strands, 5)) == Words{1, 1, 1, 0});
}

TEST_CASE("chunks are what a walk visits, in its order") {
  for (const std::uint32_t k : {7u, 21u, 40u}) {
    const LibraryFolder folder;
    const Index index(counted(folder, "a.wmi", library_bases(20000, k), k));
    Words kmers, counts;
    index.for_each([&](std::string_view kmer, std::uint64_t count) {
      for (const std::uint64_t word : packed_naively(std::string(kmer))) kmers.push_back(word);
      counts.push_back(count);
    });
    for (const unsigned threads : {0u, 1u, 3u}) {
      for (const std::uint64_t size : {std::uint64_t{1}, std::uint64_t{300}, std::uint64_t{1} << 20}) {
        const auto [all, their_counts] = read_chunks(index, threads, size);
        CHECK(all == kmers);
        CHECK(their_counts == counts);
      }
    }
  }
}

TEST_CASE("a reader of chunks is moved, left, and told of damage") {
  const LibraryFolder folder;
  const std::string path = counted(folder, "a.wmi", library_bases(20000, 1), 21);
  Index index(path);
  warpmer::PackedChunk chunk;
  for (int i = 0; i < 20; ++i) {
    warpmer::ChunkReader left(index, 3, 10);
    CHECK(left.next(chunk));
  }
  warpmer::ChunkReader reader(index, 2, 100);
  CHECK(reader.next(chunk));
  std::size_t kmers = chunk.size;
  const Index moved = std::move(index);
  warpmer::ChunkReader other = std::move(reader);
  while (other.next(chunk)) kmers += chunk.size;
  CHECK(kmers == 19980);
  CHECK_THROWS_AS(warpmer::ChunkReader(moved, 1, 0), warpmer::UsageError);

  const std::string small = counted(folder, "b.wmi", library_bases(20000, 1), 7);
  damage(small);
  const Index damaged(small);
  warpmer::ChunkReader walk(damaged, 2);
  CHECK_THROWS_AS(while (walk.next(chunk)), warpmer::InputError);
  CHECK_THROWS_AS((void)damaged.counts_of_packed(Words(10000), 2), warpmer::InputError);
}

TEST_CASE("packed k-mers that are none") {
  const LibraryFolder folder;
  const Index narrow(counted(folder, "a.wmi", library_bases(100, 1), 21));
  const Index wide(counted(folder, "b.wmi", library_bases(100, 1), 40));
  CHECK_THROWS_AS((void)narrow.counts_of_packed(Words{std::uint64_t{1} << 42}), warpmer::UsageError);
  CHECK_THROWS_AS((void)wide.counts_of_packed(Words{std::uint64_t{1} << 16, 0}), warpmer::UsageError);
  CHECK_THROWS_AS((void)warpmer::unpack(Words{std::uint64_t{1} << 42}, 21), warpmer::UsageError);
  CHECK_THROWS_AS((void)wide.counts_of_packed(Words{1, 2, 3}), warpmer::UsageError);
  CHECK_THROWS_AS((void)warpmer::unpack(Words{1, 2, 3}, 33), warpmer::UsageError);
  CHECK_THROWS_AS((void)warpmer::unpack(Words{}, 0), warpmer::UsageError);
  CHECK_THROWS_AS((void)warpmer::unpack(Words{}, 65), warpmer::UsageError);
  const std::vector<std::string_view> one_wrong = {"ACGT", "ACNT"};
  CHECK_THROWS_AS((void)warpmer::pack(one_wrong, 4), warpmer::UsageError);
  CHECK_THROWS_AS((void)warpmer::pack(one_wrong, 5), warpmer::UsageError);
  CHECK_THROWS_AS((void)narrow.counts_of(one_wrong, 3), warpmer::UsageError);
}

TEST_CASE("set operations give the k-mers and counts that maps give") {
  const LibraryFolder folder;
  const std::string shared = library_bases(300, 1);
  const std::string a = counted(folder, "a.wmi", shared + library_bases(200, 2) + shared.substr(0, 60), 21);
  const std::string b = counted(folder, "b.wmi", shared.substr(100) + library_bases(200, 3), 21);
  const Counts of_a = content_of(a), of_b = content_of(b);
  const auto at = [](const Counts& counts, const std::string& kmer) {
    const auto found = counts.find(kmer);
    return found == counts.end() ? 0 : found->second;
  };
  Counts all = of_a;
  for (const auto& [kmer, count] : of_b) all[kmer] += count;
  /// The k-mers to which `rule(in a, in b)` gives a count.
  const auto expect = [&](const std::function<std::uint64_t(std::uint64_t, std::uint64_t)>& rule) {
    Counts expected;
    for (const auto& [kmer, count] : all) {
      if (const std::uint64_t given = rule(at(of_a, kmer), at(of_b, kmer)); given > 0) expected[kmer] = given;
    }
    return expected;
  };
  const auto combined = [&](SetOperation operation, const warpmer::SetOptions& options = {}) {
    const warpmer::Totals totals = warpmer::combine(operation, {a, b}, options, folder / "out.wmi");
    CHECK(totals == Index(folder / "out.wmi").totals());
    return content_of(folder / "out.wmi");
  };
  const auto with_rule = [](CountRule rule) { return warpmer::SetOptions{.counts = rule, .threads = 2}; };
  using U = std::uint64_t;

  CHECK(combined(SetOperation::unite) == expect([](U x, U y) { return x + y; }));
  CHECK(combined(SetOperation::intersect) == expect([](U x, U y) { return std::min(x, y); }));
  CHECK(combined(SetOperation::subtract) == expect([](U x, U y) { return y > 0 ? 0 : x; }));
  CHECK(combined(SetOperation::symmetric_difference) ==
        expect([](U x, U y) { return x > 0 && y > 0 ? 0 : x + y; }));
  CHECK(combined(SetOperation::unite, with_rule(CountRule::max)) ==
        expect([](U x, U y) { return std::max(x, y); }));
  CHECK(combined(SetOperation::unite, with_rule(CountRule::first)) ==
        expect([](U x, U y) { return x > 0 ? x : y; }));
  CHECK(combined(SetOperation::unite, with_rule(CountRule::last)) ==
        expect([](U x, U y) { return y > 0 ? y : x; }));
  CHECK(combined(SetOperation::unite, with_rule(CountRule::samples)) ==
        expect([](U x, U y) { return U{x > 0} + U{y > 0}; }));
  CHECK(combined(SetOperation::intersect, with_rule(CountRule::sum)) ==
        expect([](U x, U y) { return x > 0 && y > 0 ? x + y : 0; }));
  CHECK(combined(SetOperation::subtract, with_rule(CountRule::difference)) ==
        expect([](U x, U y) { return x > y ? x - y : 0; }));
  CHECK(combined(SetOperation::unite, {.counts = CountRule::min, .min_samples = 2}) ==
        expect([](U x, U y) { return std::min(x, y); }));
  CHECK(combined(SetOperation::unite, {.min_count = 2, .max_count = 2}) ==
        expect([](U x, U y) { return x + y == 2 ? 2 : 0; }));
}

TEST_CASE("indexes that cannot be combined leave nothing behind") {
  const LibraryFolder folder;
  const std::string a = counted(folder, "a.wmi", library_bases(100, 1), 21);
  const std::string b = counted(folder, "b.wmi", library_bases(100, 2), 21);
  const std::string other = counted(folder, "c.wmi", library_bases(100, 2), 23);
  const auto before = folder.files();
  const auto refuses = [&](SetOperation operation, const std::vector<std::string>& indexes,
                           const warpmer::SetOptions& options = {}) {
    CHECK_THROWS_AS(warpmer::combine(operation, indexes, options, folder / "out.wmi"), warpmer::UsageError);
  };
  refuses(SetOperation::unite, {});
  refuses(SetOperation::unite, {a, other});
  refuses(SetOperation::subtract, {a});
  refuses(SetOperation::unite, {a, b}, {.counts = CountRule::difference});
  refuses(SetOperation::subtract, {a, b}, {.counts = CountRule::max});
  refuses(SetOperation::symmetric_difference, {a, b}, {.counts = CountRule::samples});
  refuses(SetOperation::intersect, {a, b}, {.min_samples = 2});
  refuses(SetOperation::unite, {a, b}, {.min_samples = 3});
  refuses(SetOperation::unite, {a, b}, {.min_samples = 0});
  refuses(SetOperation::unite, {a, b}, {.min_count = 0});
  refuses(SetOperation::unite, {a, b}, {.min_count = 3, .max_count = 2});
  CHECK_THROWS_AS(warpmer::combine(SetOperation::unite, {a, b}, {}, a), warpmer::UsageError);
  CHECK_THROWS_AS(warpmer::combine(SetOperation::unite, {a, folder / "none.wmi"}, {}, folder / "out.wmi"),
                  warpmer::InputError);
  CHECK_THROWS_AS(warpmer::combine(SetOperation::unite, {a, b}, {.memory_bytes = 1000}, folder / "out.wmi"),
                  warpmer::ResourceError);
  CHECK(folder.files() == before);
}

TEST_CASE("a listener hears of the end, on the caller's thread") {
  const LibraryFolder folder;
  const std::string input = folder.fasta("in.fa", library_bases(5000, 1));
  warpmer::CountOptions options = options_of(21);
  warpmer::JobStatus last;
  const auto caller = std::this_thread::get_id();
  const warpmer::JobListener listener = [&](const warpmer::JobStatus& status) {
    CHECK(std::this_thread::get_id() == caller);
    last = status;
  };
  options.listener = listener;
  const warpmer::Totals totals = warpmer::count({input}, options, folder / "a.wmi");
  CHECK(last.stage == warpmer::JobStage::done);
  CHECK(last.kmers == totals.counted_kmers);
  CHECK(last.bytes_done == fs::file_size(input));
  CHECK(last.parts_done == last.parts_total);
  last = {};
  warpmer::combine(SetOperation::unite, {folder / "a.wmi"}, {.listener = listener}, folder / "b.wmi");
  CHECK(last.stage == warpmer::JobStage::done);
  CHECK_THROWS_AS(warpmer::combine(SetOperation::unite, {}, {.listener = listener}, folder / "b.wmi"),
                  warpmer::UsageError);
}

TEST_CASE("what a listener throws at the end leaves what was there") {
  const LibraryFolder folder;
  const std::string input = folder.fasta("in.fa", library_bases(5000, 1));
  warpmer::count({input}, options_of(21), folder / "a.wmi");
  const warpmer::JobListener at_the_end = [](const warpmer::JobStatus& status) {
    if (status.stage == warpmer::JobStage::done) throw std::out_of_range("enough");
  };
  warpmer::CountOptions options = options_of(31);
  options.listener = at_the_end;
  CHECK_THROWS_AS(warpmer::count({input}, options, folder / "a.wmi"), std::out_of_range);
  CHECK_THROWS_AS(warpmer::count({input}, options, folder / "b.wmi"), std::out_of_range);
  CHECK_THROWS_AS(
      warpmer::combine(SetOperation::unite, {folder / "a.wmi"}, {.listener = at_the_end}, folder / "b.wmi"),
      std::out_of_range);
  CHECK(Index(folder / "a.wmi").k() == 21);
  CHECK(folder.files() == 2);
}

TEST_CASE("a job that waits for another one is ended by its listener") {
  const LibraryFolder folder;
  const std::string input = folder.fasta("in.fa", library_bases(5000, 1));
  std::atomic<bool> is_first_counting{false}, may_end{false};
  std::thread first([&] {
    warpmer::CountOptions options = options_of(21);
    options.listener = [&](const warpmer::JobStatus& status) {
      if (status.stage != warpmer::JobStage::done) return;
      is_first_counting = true;  // its turn ends when its output has its name
      while (!may_end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    warpmer::count({input}, options, folder / "a.wmi");
  });
  while (!is_first_counting) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  warpmer::CountOptions options = options_of(21);
  options.listener = [](const warpmer::JobStatus&) { throw std::out_of_range("enough"); };
  CHECK_THROWS_AS(warpmer::count({input}, options, folder / "b.wmi"), std::out_of_range);
  may_end = true;
  first.join();
  CHECK(folder.files() == 2);
}

TEST_CASE("a job that waits for input is ended by its listener") {
  const LibraryFolder folder;
  const std::string pipe = folder / "in.fifo";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  for (const std::string& begun : {std::string(), std::string(">one\nACGT"), std::string("\x1f\x8b\x08")}) {
    for (const unsigned threads : {1U, 3U}) {
      const int writer = open(pipe.c_str(), O_RDWR | O_CLOEXEC);
      REQUIRE(write(writer, begun.data(), begun.size()) == std::ssize(begun));
      warpmer::CountOptions options = options_of(21);
      options.threads = threads;
      int calls = 0;
      options.listener = [&](const warpmer::JobStatus&) {
        if (++calls == 3) throw std::out_of_range("enough");
      };
      CHECK_THROWS_AS(warpmer::count({pipe}, options, folder / "a.wmi"), std::out_of_range);
      close(writer);
    }
  }
  CHECK(folder.files() == 1);
}

TEST_CASE("a listener of a count cannot count, and may do all else") {
  const LibraryFolder folder;
  const std::string input = folder.fasta("in.fa", library_bases(100, 1));
  warpmer::CountOptions options = options_of(21);
  warpmer::count({input}, options, folder / "a.wmi");
  const auto want_another = [&] {
    warpmer::combine(SetOperation::unite, {folder / "a.wmi"}, {}, folder / "b.wmi");
    warpmer::count({input}, options_of(21), folder / "c.wmi");
  };
  options.listener = [&](const warpmer::JobStatus&) { want_another(); };
  const char* const why = "a listener of a count cannot count itself; do so when that count has ended";
  CHECK_THROWS_WITH_AS(warpmer::count({input}, options, folder / "d.wmi"), why, warpmer::UsageError);
  options.listener = {};
  options.warning_listener = [&](const std::string&) { want_another(); };
  CHECK_THROWS_WITH_AS(warpmer::count({input, input}, options, folder / "d.wmi"), why, warpmer::UsageError);
  CHECK(folder.files() == 3);
  CHECK_NOTHROW(warpmer::count({input}, options_of(21), folder / "d.wmi"));
}

TEST_CASE("what a listener throws ends the job and leaves no output") {
  const LibraryFolder folder;
  const std::string bases = library_bases(1 << 16, 1);
  const std::string input = folder / "in.fa";
  {
    std::ofstream file(input);
    for (int i = 0; i < 800; ++i) file << '>' << i << '\n' << bases << '\n';
  }
  warpmer::CountOptions options = options_of(31);
  options.listener = [&](const warpmer::JobStatus& status) {
    if (status.bytes_done < std::filesystem::file_size(input) / 2) throw std::out_of_range("enough");
  };
  options.threads = 1;
  // Where the machine is so fast that it was not called before the end, there is nothing to see.
  try {
    warpmer::count({input}, options, folder / "a.wmi");
    WARN_MESSAGE(false, "the job ended before its listener was called");
  } catch (const std::out_of_range&) {
    CHECK(folder.files() == 1);
  }
}
