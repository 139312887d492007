// The public library: answers against a naive count, and errors of each kind.

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "unit/library/library_fixture.h"
#include "warpmer/warpmer.h"

namespace fs = std::filesystem;
using warpmer::CountOptions;
using warpmer::Index;
using warpmer::tests::library_bases;
using warpmer::tests::LibraryFolder;

namespace {

using Counts = std::map<std::string, std::uint64_t>;

std::string canonical(std::string kmer) {
  std::string other(kmer.rbegin(), kmer.rend());
  for (char& base : other) base = base == 'A' ? 'T' : base == 'C' ? 'G' : base == 'G' ? 'C' : 'A';
  return std::min(kmer, other);
}

/// The k-mer at a position, as the index names it; empty at a break.
std::string kmer_at(const std::string& bases, std::size_t at, const CountOptions& options) {
  const std::string kmer = bases.substr(at, options.k);
  if (kmer.find('N') != std::string::npos) return "";
  return options.canonical ? canonical(kmer) : kmer;
}

Counts naive_counts(const std::string& bases, const CountOptions& options) {
  Counts counts;
  for (std::size_t i = 0; i + options.k <= bases.size(); ++i) {
    if (const std::string kmer = kmer_at(bases, i, options); !kmer.empty()) ++counts[kmer];
  }
  return counts;
}

CountOptions options_of(std::uint32_t k, bool canonical = true) {
  CountOptions options;
  options.k = k;
  options.canonical = canonical;
  options.threads = 2;
  options.memory_bytes = std::uint64_t{1} << 30;
  return options;
}

/// Repeats, a break, and a strand of which each k-mer is there twice.
std::string sample_bases() {
  const std::string bases = library_bases(3000, 5);
  return bases + "N" + bases.substr(500, 400) + "NN" + library_bases(50, 6);
}

Index counted(const LibraryFolder& folder, const std::string& bases, const CountOptions& options) {
  warpmer::count({folder.fasta("in.fa", bases)}, options, folder / "out.wmi");
  return Index(folder / "out.wmi");
}

}  // namespace

TEST_CASE("an index answers as a naive count does") {
  const std::string bases = sample_bases();
  const std::vector<CountOptions> cases = {options_of(7), options_of(21), options_of(31, false),
                                           options_of(32), options_of(64)};
  for (const CountOptions& options : cases) {
    const std::uint32_t k = options.k;
    CAPTURE(k);
    const LibraryFolder folder;
    const Index index = counted(folder, bases, options);
    const Counts expected = naive_counts(bases, options);
    CHECK(index.k() == k);
    CHECK(index.is_canonical() == options.canonical);
    CHECK(index.path() == folder / "out.wmi");

    Counts walked;
    index.for_each(
        [&](std::string_view kmer, std::uint64_t count) { CHECK(walked.emplace(kmer, count).second); });
    CHECK(walked == expected);

    std::vector<std::string> kmers;
    std::vector<std::uint64_t> counts;
    for (const auto& [kmer, count] : expected) {
      kmers.push_back(kmer);
      counts.push_back(count);
    }
    kmers.emplace_back(k, 'A');
    counts.push_back(expected.contains(kmers.back()) ? expected.at(kmers.back()) : 0);
    CHECK(index.counts_of(kmers) == counts);
    CHECK(index.count_of(kmers.front()) == counts.front());

    std::vector<std::uint64_t> profile;
    for (std::size_t i = 0; i + k <= bases.size(); ++i) {
      const std::string kmer = kmer_at(bases, i, options);
      profile.push_back(kmer.empty() ? Index::kNoKmer : expected.at(kmer));
    }
    CHECK(index.counts_in(bases) == profile);
  }
}

TEST_CASE("totals and histogram") {
  const LibraryFolder folder;
  const std::string bases = sample_bases();
  CountOptions options = options_of(21);
  options.min_count = 2;
  const std::string input = folder.write("in.fa", ">one\n" + bases + "\n>two\nACGT\n");
  const warpmer::Totals totals = warpmer::count({input}, options, folder / "out.wmi");
  const Index index(folder / "out.wmi");
  const Counts expected = naive_counts(bases, options);
  std::map<std::uint64_t, std::uint64_t> rows;
  std::uint64_t stored = 0;
  for (const auto& [kmer, count] : expected) {
    if (count >= 2) ++rows[count], stored += count;
  }
  CHECK(totals == index.totals());
  CHECK(totals.sequences == 2);
  CHECK(totals.bases == bases.size() + 4);
  CHECK(totals.counted_distinct == expected.size());
  CHECK(totals.stored_kmers == stored);
  CHECK(totals.min_count == 2);
  CHECK(totals.max_count == UINT64_MAX);
  CHECK(totals.largest_count == rows.rbegin()->first);
  std::vector<warpmer::HistogramRow> histogram;
  histogram.reserve(rows.size());
  for (const auto& [count, kmers] : rows) histogram.push_back({count, kmers});
  CHECK(index.histogram() == histogram);
}

TEST_CASE("a sequence longer than what is looked up at once, and shorter than a k-mer") {
  const LibraryFolder folder;
  const CountOptions options = options_of(31);
  const Index index = counted(folder, library_bases(200, 1), options);
  const std::string known = library_bases(200, 1);
  // The known bases lie across the end of the first part.
  const std::string bases = library_bases((1 << 20) - 90, 2) + known + library_bases(1000, 3);
  const std::vector<std::uint64_t> counts = index.counts_in(bases);
  REQUIRE(counts.size() == bases.size() - 30);
  for (std::size_t i = 0; i < 170; ++i) CHECK(counts[(1 << 20) - 90 + i] == 1);
  CHECK(std::count(counts.begin(), counts.end(), 1u) == 170);
  CHECK(index.counts_in(known.substr(0, 30)).empty());
  CHECK(index.counts_in("").empty());
  CHECK(index.counts_in(known.substr(0, 31)) == std::vector<std::uint64_t>{1});
}

TEST_CASE("an index is moved, and one of equal content has the same checksum") {
  const LibraryFolder folder, other;
  const std::string bases = sample_bases();
  Index first = counted(folder, bases, options_of(31));
  const std::uint64_t checksum = first.content_checksum();
  Index second = std::move(first);
  CHECK(second.content_checksum() == checksum);
  CHECK(second.count_of(bases.substr(0, 31)) == 1);
  CountOptions options = options_of(31);
  options.threads = 1;
  first = counted(other, bases, options);
  CHECK(first.content_checksum() == checksum);
  CHECK(first.count_of(bases.substr(600, 31)) == 2);
}

TEST_CASE("several threads ask one index, and count at the same time") {
  const LibraryFolder folder;
  const std::string bases = sample_bases();
  const CountOptions options = options_of(21);
  const Index index = counted(folder, bases, options);
  const std::vector<std::uint64_t> expected = index.counts_in(bases);
  std::vector<std::thread> threads;
  std::vector<char> is_right(3);
  for (std::size_t i = 0; i < is_right.size(); ++i) {
    threads.emplace_back([&, i] {
      const std::string output = folder / (std::to_string(i) + ".wmi");
      warpmer::count({folder / "in.fa"}, options, output);
      is_right[i] = index.counts_in(bases) == expected && Index(output).counts_in(bases) == expected;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const char right : is_right) CHECK(right);
}

TEST_CASE("what a visitor throws reaches the caller") {
  const LibraryFolder folder;
  const Index index = counted(folder, sample_bases(), options_of(21));
  int visits = 0;
  const auto stop = [&](std::string_view, std::uint64_t) {
    if (++visits == 10) throw std::out_of_range("enough");
  };
  CHECK_THROWS_AS(index.for_each(stop), std::out_of_range);
  CHECK(visits == 10);
}

TEST_CASE("questions that an index cannot answer") {
  const LibraryFolder folder;
  const Index index = counted(folder, sample_bases(), options_of(21));
  CHECK_THROWS_AS((void)index.count_of("ACGT"), warpmer::UsageError);
  CHECK_THROWS_AS((void)index.count_of(std::string(21, 'N')), warpmer::UsageError);
  CHECK_THROWS_AS((void)index.counts_of(std::vector<std::string>{"ACGT"}), warpmer::UsageError);
  CHECK_THROWS_WITH_AS((void)index.counts_in("ACGT1"),
                       "position 5 of the sequence is '1', which is no nucleotide code", warpmer::UsageError);
  try {
    (void)index.count_of("ACGT");
  } catch (const warpmer::Error& error) {
    CHECK(error.kind() == warpmer::ErrorKind::usage);
  }
}

TEST_CASE("files that are no index") {
  const LibraryFolder folder;
  CHECK_THROWS_AS(Index(folder / "none.wmi"), warpmer::InputError);
  CHECK_THROWS_AS(Index(folder.write("text.wmi", "no index")), warpmer::InputError);
  (void)counted(folder, sample_bases(), options_of(21));
  fs::resize_file(folder / "out.wmi", fs::file_size(folder / "out.wmi") / 2);
  CHECK_THROWS_AS(Index(folder / "out.wmi"), warpmer::InputError);
}

TEST_CASE("a damaged part of an index is noticed by what needs it") {
  const LibraryFolder folder;
  const std::string bases = sample_bases();
  (void)counted(folder, bases, options_of(7));
  warpmer::tests::damage(folder / "out.wmi");
  const Index index(folder / "out.wmi");
  CHECK_THROWS_AS((void)index.count_of(bases.substr(0, 7)), warpmer::InputError);
  CHECK_THROWS_AS((void)index.counts_in(bases), warpmer::InputError);
  CHECK_THROWS_AS(index.for_each([](std::string_view, std::uint64_t) {}), warpmer::InputError);
}

TEST_CASE("counting that cannot be done leaves nothing behind") {
  const LibraryFolder folder;
  const std::string input = folder.write("in.fa", ">one\nACGTACGT\n");
  const auto count = [&](const std::vector<std::string>& inputs, const auto& change) {
    CountOptions options = options_of(5);
    change(options);
    warpmer::count(inputs, options, folder / "out.wmi");
  };
  const auto same = [](CountOptions&) {};
  CHECK_THROWS_AS(count({folder / "none.fa"}, same), warpmer::InputError);
  CHECK_THROWS_AS(count({folder.write("text.txt", "no sequences")}, same), warpmer::InputError);
  CHECK_THROWS_AS(count({}, same), warpmer::UsageError);
  CHECK_THROWS_AS(count({input}, [](CountOptions& o) { o.k = 0; }), warpmer::UsageError);
  CHECK_THROWS_AS(count({input}, [](CountOptions& o) { o.k = 65; }), warpmer::UsageError);
  CHECK_THROWS_AS(count({input}, [](CountOptions& o) { o.min_count = 0; }), warpmer::UsageError);
  CHECK_THROWS_AS(count({input}, [](CountOptions& o) { o.max_count = 0; }), warpmer::UsageError);
  CHECK_THROWS_AS(count({input}, [](CountOptions& o) { o.min_base_quality = 94; }), warpmer::UsageError);
  CHECK_THROWS_AS(count({input}, [](CountOptions& o) { o.device = "abacus"; }), warpmer::UsageError);
  CHECK_THROWS_WITH_AS(count({input}, [](CountOptions& o) { o.memory_bytes = 1000; }),
                       "a memory cap of 1000 bytes is too little for any job", warpmer::ResourceError);
  CHECK_THROWS_AS(warpmer::count({input}, options_of(5), input), warpmer::UsageError);
  CHECK_THROWS_AS(warpmer::count({input}, options_of(5), folder / "no/folder.wmi"), warpmer::ResourceError);
  CHECK(folder.files() == 2);
}

TEST_CASE("a limit on file sizes is an error, and no signal to the caller") {
  const LibraryFolder folder;
  const std::string input = folder.fasta("in.fa", library_bases(100000, 1)), output = folder / "out.wmi";
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{4096, 4096};
    std::signal(SIGXFSZ, SIG_DFL);
    setrlimit(RLIMIT_FSIZE, &limit);
    int status = 1;
    try {
      warpmer::count({input}, {}, output);
    } catch (const warpmer::ResourceError&) {
      status = 0;
    }
    _exit(status);
  }
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(folder.files() == 1);
}

TEST_CASE("names that cannot be an output's, and files that an output must not replace") {
  const LibraryFolder folder;
  const std::string input = folder.write("in.fa", ">one\nACGTACGT\n");
  const auto is_refused = [&](const std::string& output, const std::string& why,
                              const std::vector<std::string>& inputs, const std::string& reference = "") {
    CountOptions options = options_of(5);
    options.reference = reference;
    CHECK_THROWS_WITH_AS(warpmer::count(inputs, options, output), doctest::Contains(why.c_str()),
                         warpmer::UsageError);
  };
  is_refused("", "give its name", {input});
  is_refused("-", "give its name", {input});
  is_refused(folder / "out.kff", "ends as KFF does, and what is written is an index", {input});
  is_refused(folder / "out.wmi.gz", "index", {input});
  const std::string nul(1, '\0');
  is_refused(folder / "out.wmi" + nul + "x", "NUL", {input});
  is_refused(folder / "out.wmi", "NUL", {input + nul + "x"});
  CHECK_THROWS_AS(Index{input + nul}, warpmer::UsageError);
  const std::string other = folder.write("other.fa", ">two\nACGTACGT\n");
  is_refused(other, "sequence data (FASTA)", {input});
  is_refused(other, "one of the inputs", {input}, other);
  fs::create_symlink(input, folder / "link.wmi");
  is_refused(folder / "link.wmi", "one of the inputs", {input});
  is_refused(input, "one of the inputs", {"/dev/stdin", input});
  CHECK(folder.files() == 3);
  const Index index = counted(folder, "ACGTACGT", options_of(5));
  CHECK_THROWS_AS(index.for_each(Index::Visitor()), warpmer::UsageError);
}

TEST_CASE("an index that is open may be replaced") {
  const LibraryFolder folder;
  const std::string bases = library_bases(100, 1);
  const Index old = counted(folder, bases, options_of(21));
  const Index young = counted(folder, library_bases(100, 2), options_of(21));
  CHECK(old.count_of(bases.substr(0, 21)) == 1);
  CHECK(young.count_of(bases.substr(0, 21)) == 0);
  CHECK_NOTHROW((void)counted(folder, bases, options_of(21)));
}

TEST_CASE("lenient, and bases of low quality") {
  const LibraryFolder folder;
  CountOptions options = options_of(5);
  const std::string odd = folder.write("odd.fa", ">one\nACGTA1ACGTA\n");
  CHECK_THROWS_AS(warpmer::count({odd}, options, folder / "odd.wmi"), warpmer::InputError);
  options.lenient = true;
  CHECK(warpmer::count({odd}, options, folder / "odd.wmi").counted_kmers == 2);
  options.min_base_quality = 20;
  const std::string reads = folder.write("reads.fq", "@one\nACGTACCCCC\n+\nIIIIII#III\n");
  CHECK(warpmer::count({reads}, options, folder / "reads.wmi").counted_kmers == 2);
}
