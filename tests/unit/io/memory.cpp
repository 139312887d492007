// The memory that reading is said to hold.

#include <sys/stat.h>

#include <filesystem>

#include "unit/io/io_fixture.h"

using namespace io_test;

namespace {

constexpr std::uint64_t kMegabyte = 1 << 20;

std::uint64_t held(const std::vector<std::string>& paths, unsigned threads,
                   const std::string& reference = "") {
  io::InputOptions options;
  options.threads = threads;
  options.reading.reference = reference;
  return io::InputSet(paths, options).memory_bytes(threads);
}

}  // namespace

TEST_CASE("io memory: htslib's slices of CRAM count, by content and for the threads that decode them") {
  const ScratchFolder folder;
  const std::string text = folder.write("text.cram", "@r\nA\n+\nI\n");
  const std::string cram = folder.write("cram", "CRAM\x03");
  const std::string second = folder.write("second.fq", "CRAM\x03");
  CHECK(held({text}, 1) < 32 * kMegabyte);
  CHECK(held({cram}, 1) - held({text}, 1) >= 30 * kMegabyte);   // measured: 24
  CHECK(held({cram}, 2) - held({text}, 2) >= 102 * kMegabyte);  // measured: 102
  CHECK(held({cram}, 8) - held({text}, 8) >= 289 * kMegabyte);  // measured: 289
  // At once only when there is a thread for each.
  CHECK(held({cram, second}, 1) == held({cram}, 1));
  CHECK(held({cram, second}, 2) - held({text, text}, 2) == 2 * (held({cram}, 1) - held({text}, 1)));
  CHECK(held({cram, text}, 2) - held({text, text}, 2) == held({cram}, 1) - held({text}, 1));
}

TEST_CASE("io memory: what a file is not compressed with takes nothing, and a pipe may be gzip") {
  const ScratchFolder folder;
  const std::string text = folder.write("text.gz", "@r\nA\n+\nI\n");
  const std::string gzip = folder.write("gzip.fq", "\x1f\x8b\x08");
  const std::string pipe = folder / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  for (const unsigned threads : {1u, 2u, 16u}) {
    CAPTURE(threads);
    CHECK(held({pipe}, threads) == held({gzip}, threads));
    CHECK(held({text, gzip}, 1) == held({gzip}, 1));
    CHECK(held({text}, threads) + threads * kMegabyte / 2 < held({gzip}, threads));
  }
}

TEST_CASE("io memory: of a reference, the two longest sequences count") {
  const ScratchFolder folder;
  const std::string cram = folder.write("cram", "CRAM\x03");
  const std::string text = folder.write("text", "@r\nA\n+\nI\n");
  const std::string genome = folder.write("genome.fa", ">a\nACGT\n");
  const std::uint64_t none = held({cram}, 1);
  CHECK(held({cram}, 1, genome) == none + 2 * 4);  // an index is made
  std::filesystem::remove(genome + ".fai");
  std::filesystem::create_directory(genome + ".fai");
  CHECK(held({cram}, 1, genome) == none + 2 * 8);  // there can be none: no more than the file
  std::filesystem::remove(genome + ".fai");
  const std::string index =
      folder.write("genome.fa.fai", "a\t4\t3\t4\t5\nb c\t300000000\t9\t60\t61\nd\t7\t9\t7\t8\n");
  CHECK(held({cram}, 1, genome) == none + 600'000'000);
  CHECK(held({text}, 1, genome) == held({text}, 1));
  CHECK_THROWS_AS(held({text}, 1, folder / "missing.fa"), warpmer::InputError);
}
