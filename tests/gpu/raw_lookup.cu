// Raw FASTQ on the GPU: the lines of its reads are those that the CPU says of its records, and what is not
// regular is refused.

#include <doctest/doctest.h>

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "backend/lookup/summary_line.h"
#include "gpu/device.h"
#include "kernels/lookup/lookup.cuh"
#include "kernels/lookup/raw_lane.cuh"
#include "lookups/lookup_fixture.h"
#include "random_fastq.h"
#include "random_text.h"

namespace {

using namespace warpmer;
using namespace warpmer::tests;

constexpr std::uint64_t kMemory = std::uint64_t{4} << 30;

std::unique_ptr<backend::Lookup> raw_lookup(const index::IndexFile& index, bool lenient = false,
                                            std::uint64_t bytes = kMemory) {
  return gpu::make_lookup_within(index, {.lenient = lenient}, {gpu_under_test().ordinal}, {bytes, bytes});
}

io::Batch raw_batch(const backend::Lookup& lookup, const std::string& text) {
  REQUIRE(lookup.text_memory() != nullptr);
  io::Batch batch;
  batch.text = io::PaddedText(*lookup.text_memory());
  batch.text.append("behind what was looked at before the text\n" + text);
  batch.raw_begin = batch.text.size() - text.size();
  batch.raw_format = io::RawFormat::fastq;
  return batch;
}

backend::RawAnswer answer(const backend::Lookup& lookup, const std::string& text, char lowest_quality = 0) {
  backend::RawAnswer answer;
  lookup.answer_raw(raw_batch(lookup, text), lowest_quality, answer);
  return answer;
}

bool is_refused(const backend::Lookup& lookup, const std::string& text) {
  try {
    answer(lookup, text);
  } catch (const io::RawTextRefused&) {
    return true;
  }
  return false;
}

/// A FASTQ text with the lines that are expected of it.
struct ExpectedText {
  std::string lines;
  backend::ReadTotals read;
};

/// Says by the CPU what is in records of four lines.
ExpectedText expected_of(const backend::Lookup& cpu, const std::string& text, char lowest_quality = 0) {
  std::vector<std::string> names;
  Reads reads;
  for (std::size_t at = 0; at < text.size();) {
    std::string lines[4];
    for (std::string& line : lines) {
      const std::size_t end = text.find('\n', at);
      line = text.substr(at, end - at);
      at = end + 1;
    }
    names.push_back(lines[0].substr(1, lines[0].find_first_of(" \t") - 1));
    for (std::size_t i = 0; i < lines[1].size(); ++i)
      if (lines[3][i] < lowest_quality) lines[1][i] = 'N';
    reads.push_back(lines[1]);
  }
  backend::BatchSummary summary;
  cpu.summarise(batch_of(reads), summary);
  ExpectedText expected;
  expected.read.records = reads.size();
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const backend::ReadSummary& sums = summary.pieces[i];
    std::string columns(backend::summary_bytes(sums), ' ');
    REQUIRE(backend::write_summary(sums, columns.data()) == columns.data() + columns.size());
    expected.lines += names[i] + columns;
    expected.read.bases += reads[i].size();
    expected.read.kmers += sums.kmers > 0 ? 1 : 0;
  }
  return expected;
}

void check_text(const backend::Lookup& cpu, const backend::Lookup& gpu, const std::string& text,
                char lowest_quality = 0) {
  const ExpectedText expected = expected_of(cpu, text, lowest_quality);
  const backend::RawAnswer got = answer(gpu, text, lowest_quality);
  CHECK((got.lines == expected.lines));
  CHECK(got.read.records == expected.read.records);
  CHECK(got.read.bases == expected.read.bases);
  CHECK(got.read.kmers == expected.read.kmers);
}

std::string record(const std::string& header, const std::string& bases) {
  return "@" + header + "\n" + bases + "\n+\n" + std::string(bases.size(), 'I') + "\n";
}

/// An index of random reads, and texts with some of them.
struct RawFixture {
  explicit RawFixture(std::uint32_t k, bool canonical = true) {
    write_index(file.path(), known, k, canonical);
    index.emplace(file.path());
    cpu = backend::make_cpu_lookup(*index);
    gpu = raw_lookup(*index);
  }

  [[nodiscard]] std::string text(std::size_t first, std::size_t reads) const {
    std::string all;
    for (std::size_t i = first; i < first + reads; ++i)
      all += record("read" + std::to_string(i) + (i % 3 == 0 ? " 1:N:0\tx" : ""), known[i]);
    return all;
  }

  Reads known = random_reads(4000, 20000, 21);
  TemporaryIndex file;
  std::optional<index::IndexFile> index;
  std::unique_ptr<backend::Lookup> cpu, gpu;
};

TEST_CASE("raw FASTQ: lines are the CPU's, for any k, on one strand or both") {
  for (const std::uint32_t k : {1u, 12u, 13u, 21u, 31u, 33u, 64u}) {
    for (const bool canonical : {true, false}) {
      CAPTURE(k);
      CAPTURE(canonical);
      const RawFixture made(k, canonical);
      const std::string text = made.text(0, 3000) + fastq(100'000, k, 200);
      check_text(*made.cpu, *made.gpu, text);
      check_text(*made.cpu, *made.gpu, text, 'B');
      check_text(*made.cpu, *made.gpu, made.text(5, 1));  // in the memory of a longer text
      check_text(*made.cpu, *made.gpu, record("a_read_of_breaks", std::string(20, 'N')));
      CHECK(answer(*made.gpu, text).found);
      CHECK_FALSE(answer(*made.gpu, record("a_read_of_breaks", std::string(20, 'N'))).found);
    }
  }
}

TEST_CASE("raw FASTQ: a text of the largest size, of short reads and of one long read") {
  const RawFixture made(31);
  const auto up_to = [](std::string text) {
    text.resize(gpu::RawLane::kMostBytes);
    return text.substr(0, text.rfind("\n@read") + 1);
  };
  check_text(*made.cpu, *made.gpu, up_to(fastq(gpu::RawLane::kMostBytes + 500, 1, 14)));
  check_text(*made.cpu, *made.gpu, up_to(fastq(gpu::RawLane::kMostBytes + 500, 2)));
  check_text(*made.cpu, *made.gpu, record("long", std::string(gpu::RawLane::kMostBytes / 2 - 10, 'A')));
  CHECK(is_refused(*made.gpu, record("long", std::string(gpu::RawLane::kMostBytes / 2, 'A'))));
  CHECK(answer(*made.gpu, "").lines.empty());
}

TEST_CASE("raw FASTQ: what is not regular is refused, and the next text is none the worse") {
  const RawFixture made(21);
  const std::string plain = made.text(0, 40), more = made.text(40, 40);
  for (const std::string& odd :
       {std::string("@r\nACGT\nACGT\n+\nIIIIIIII\n"), std::string("@r\r\nACGT\r\n+\r\nIIII\r\n"),
        std::string("@r\nACGT\n+\nIII\n"), std::string("@r\nAC\x01T\n+\nIIII\n"),
        record("r", "ACGTACGTJACGT"), record("", "ACGTACGT"), record(" r", "ACGTACGT"),
        std::string("@r\nACGT\n+\n"), std::string("\n"), std::string(">r\nACGT\n>s\nACGT\n")}) {
    CAPTURE(odd);
    CHECK(is_refused(*made.gpu, odd));
    CHECK(is_refused(*made.gpu, plain + odd));
    CHECK(is_refused(*made.gpu, plain + odd + more));
    check_text(*made.cpu, *made.gpu, more);
  }
}

TEST_CASE("raw FASTQ: a lenient lookup takes characters that are no nucleotide codes for breaks") {
  const RawFixture made(21);
  const auto cpu = backend::make_cpu_lookup(*made.index, {.lenient = true});
  const auto gpu = raw_lookup(*made.index, true);
  std::string odd = made.known[0];
  odd[odd.size() / 2] = 'J';
  check_text(*cpu, *gpu, made.text(0, 10) + record("odd", odd) + made.text(10, 10));
}

TEST_CASE("raw FASTQ: numbers of all lengths") {
  std::map<Key64, std::uint64_t> counts;
  std::string text;
  std::mt19937 random(5);
  std::uint64_t count = 1;
  for (int i = 0; i < 31; ++i, count *= 2) {
    const std::string kmer = tests::random_text(random, 21);
    Key64 key = 0;
    for (const char c : kmer) key = key << 2 | std::string_view("ACGT").find(c);
    counts[canonical(key, 21)] = count + i;
    text += record("r", kmer) + record("with_another_base", kmer + "A");
  }
  const TemporaryIndex file;
  write_index(file.path(), counts, 21);
  const index::IndexFile index(file.path());
  check_text(*backend::make_cpu_lookup(index), *raw_lookup(index), text);
}

TEST_CASE("raw FASTQ is not for counts that an answer does not hold, nor for little memory") {
  const TemporaryIndex file;
  write_index(file.path(), std::map<Key64, std::uint64_t>{{0, UINT32_MAX - 1}}, 21);
  const index::IndexFile large(file.path());
  CHECK(raw_lookup(large)->text_memory() == nullptr);
  const RawFixture made(21);
  CHECK(raw_lookup(*made.index, false, std::uint64_t{64} << 20)->text_memory() == nullptr);
}

TEST_CASE("raw FASTQ: more threads than lanes, each with its own texts") {
  const RawFixture made(31);
  const auto gpu = raw_lookup(*made.index, false, 12 * gpu::RawLane::device_bytes());
  constexpr unsigned kThreads = 12;
  std::vector<std::string> texts, expected;
  for (unsigned i = 0; i < kThreads; ++i) {
    texts.push_back(made.text(100 * i, 50 + 20 * i));
    expected.push_back(expected_of(*made.cpu, texts.back()).lines);
  }
  std::atomic<unsigned> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (unsigned round = 0; round < 20; ++round) {
        const unsigned which = (i + round) % kThreads;
        wrong += answer(*gpu, texts[which]).lines == expected[which] ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

}  // namespace
