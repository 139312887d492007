// ctest: one thread

#include "cli/arguments/kmer_list.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "base/error.h"

using namespace warpmer::cli;

namespace {

/// A file that lives as long as the test.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content) {
    close(mkstemp(path_));
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~TemporaryFile() { unlink(path_); }
  [[nodiscard]] std::string path() const { return path_; }

 private:
  char path_[32] = "/tmp/warpmer-kmers-XXXXXX";
};

}  // namespace

TEST_CASE("the first word of a line is the k-mer") {
  CHECK(kmer_of_line("ACGT") == "ACGT");
  CHECK(kmer_of_line("ACGT\t17") == "ACGT");
  CHECK(kmer_of_line(" \t ACGT \t") == "ACGT");
  CHECK(kmer_of_line("ACGT 1 ACGT") == "ACGT");
  CHECK(kmer_of_line("ACGT chr1") == "ACGT");
  CHECK(kmer_of_line("") == "");
  CHECK(kmer_of_line(" \t") == "");
  CHECK(kmer_of_line("# ACGT") == "");
  CHECK(kmer_of_line("  #ACGT") == "");
  CHECK_THROWS_AS(kmer_of_line("ACGT TGCA"), warpmer::UsageError);
  CHECK_THROWS_AS(kmer_of_line("ACGT \t ttca # two"), warpmer::UsageError);
}

TEST_CASE("chunks are whole lines, numbered, and add up to the file") {
  std::string content;
  for (int i = 0; i < 60000; ++i) {
    content += std::string(static_cast<std::size_t>(1 + i % 37), 'A') + "\n";
  }
  content += "LAST";
  const TemporaryFile file(content);
  KmerList list(file.path());
  CHECK(list.useful_threads(4) == 4);
  CHECK(list.useful_threads(1000) < 60);
  KmerChunk chunk;
  std::string joined;
  std::uint64_t ordinal = 0;
  std::uint64_t line = 1;
  while (list.next(chunk)) {
    CHECK(chunk.ordinal == ordinal++);
    CHECK(chunk.first_line == line);
    line += static_cast<std::uint64_t>(std::count(chunk.text.begin(), chunk.text.end(), '\n'));
    joined += chunk.text;
  }
  CHECK(ordinal > 1);
  CHECK(joined == content + "\n");
  CHECK_FALSE(list.next(chunk));
}

TEST_CASE("an empty list and a missing one") {
  const TemporaryFile file("");
  KmerList list(file.path());
  KmerChunk chunk;
  CHECK(KmerList(TemporaryFile("ACGT\n").path()).useful_threads(4) == 1);
  CHECK((KmerList::is_short(file.path()) && KmerList::is_short(TemporaryFile("ACGT\n").path())));
  CHECK_FALSE(KmerList::is_short(TemporaryFile(std::string(32768, 'A')).path()));
  CHECK_FALSE(KmerList::is_short("/dev/null"));
  CHECK_FALSE(KmerList::is_short("/no/such/file"));
  CHECK_FALSE(list.next(chunk));
  CHECK_THROWS_AS(KmerList("/no/such/file"), warpmer::InputError);
}

TEST_CASE("a line without end is refused, not read into memory") {
  const TemporaryFile file(std::string(3 << 20, 'A'));
  KmerList list(file.path());
  KmerChunk chunk;
  CHECK_THROWS_AS(list.next(chunk), warpmer::InputError);
}
