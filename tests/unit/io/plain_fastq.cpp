// Large FASTQ files handed over as text: whole records, all of them, by any number of threads.

#include <atomic>
#include <set>
#include <thread>

#include "io/fastx/plain_text.h"
#include "unit/io/io_fixture.h"

using namespace io_test;

namespace {

/// Small batches, so that small files are large.
io::InputOptions options_for(unsigned threads) {
  io::InputOptions options;
  options.batch_bytes = 32768;
  options.threads = threads;
  return options;
}

struct Texts {
  std::multiset<std::string> texts;  ///< texts of batches of FASTQ
  std::size_t pieces = 0;            ///< pieces of other batches
  std::uint64_t bytes = 0;           ///< that batches accounted for
  bool refused = false;
};

void read_to_end(io::InputSet& inputs, unsigned threads, Texts& all) {
  all.refused |= read_as_text(inputs, threads, [&](const io::Batch& batch) {
    all.bytes += batch.input_bytes;
    all.pieces += batch.pieces.size();
    if (batch.is_raw_text()) all.texts.emplace(batch.raw_text());
  });
}

Texts read_all(const std::vector<std::string>& paths, unsigned threads) {
  Texts all;
  io::InputSet inputs(paths, options_for(threads));
  read_to_end(inputs, threads, all);
  return all;
}

/// The records of a text of four-line records.
std::multiset<std::string> records_of(const std::string& text) {
  std::multiset<std::string> records;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    for (int line = 0; line < 4; ++line) end = text.find('\n', end) + 1;
    records.insert(text.substr(at, end - at));
    at = end;
  }
  return records;
}

}  // namespace

TEST_CASE("FASTQ text: every record is handed over once, and whole") {
  const ScratchFolder folder;
  for (unsigned seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    const std::string text = fastq(400000 + seed * 7777, seed, 100);
    const std::multiset<std::string> expected = records_of(text);
    const std::string path = folder.write("reads.fq", seed % 2 == 0 ? text : text.substr(0, text.size() - 1));
    for (const unsigned threads : {1u, 4u}) {
      const Texts read = read_all({path}, threads);
      CHECK_FALSE(read.refused);
      CHECK(read.pieces == 0);
      CHECK(read.texts.size() > 4);
      CHECK(read.bytes == text.size() - seed % 2);
      std::multiset<std::string> records;
      for (const std::string& part : read.texts) records.merge(records_of(part));
      CHECK((records == expected));
    }
  }
}

TEST_CASE("FASTQ text: processes that read parts of a file hand every record over once, and whole") {
  const ScratchFolder folder;
  const std::string text = fastq(500000, 3, 100);
  const auto files = io::list_inputs({folder.write("reads.fq", text)});
  for (const std::uint32_t parts : {2u, 7u, 40u}) {
    CAPTURE(parts);
    io::InputShares shares{files, {}};
    for (std::uint32_t part = 0; part < parts; ++part) shares.shares.push_back({0, part % 2, part, parts});
    Texts read;
    for (const std::uint32_t owner : {1u, 0u}) {
      io::InputSet inputs(shares, owner, options_for(2));
      read_to_end(inputs, 2, read);
    }
    CHECK_FALSE(read.refused);
    CHECK(read.pieces == 0);
    CHECK(read.bytes == text.size());
    std::multiset<std::string> records;
    for (const std::string& part : read.texts) records.merge(records_of(part));
    CHECK((records == records_of(text)));
  }
  // Text that others are to cut, too, goes to them as pieces.
  Texts read;
  io::InputSet for_all({files, {{0, 0, 0, 1, true}}}, 0, options_for(1));
  read_to_end(for_all, 1, read);
  CHECK(read.texts.empty());
  CHECK(read.pieces == records_of(text).size());
}

TEST_CASE("FASTQ text: records that are longer than what is looked at are refused") {
  const ScratchFolder folder;
  CHECK(read_all({folder.write("long.fq", fastq(400000, 1, 3000))}, 2).refused);
}

TEST_CASE("FASTQ text: small files, other formats and what cannot be read twice come as pieces") {
  const ScratchFolder folder;
  const std::string large = folder.write("large.fq", fastq(400000, 1, 100));
  const std::string small = folder.write("small.fq", fastq(2000, 2, 100));
  const std::string fasta = folder.write("large.fa", ">a\n" + std::string(100000, 'A') + "\n");
  const Texts read = read_all({small, large, fasta}, 2);
  CHECK_FALSE(read.refused);
  CHECK_FALSE(read.texts.empty());
  CHECK(read.pieces > 2);
  const std::string fifo = folder / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  std::thread writer([&] { std::ofstream(fifo) << fastq(2000, 3, 100); });
  CHECK(read_all({fifo, large}, 2).texts.empty());
  writer.join();
}

namespace {

/// Remembers the largest piece of memory that it gave.
class NotedMemory final : public io::TextMemory {
 public:
  [[nodiscard]] char* allocate(std::size_t bytes) const override {
    for (std::size_t seen = most_; seen < bytes && !most_.compare_exchange_weak(seen, bytes);) {
    }
    return new char[bytes];
  }
  void release(char* memory) const noexcept override { delete[] memory; }
  [[nodiscard]] std::size_t most() const { return most_; }

 private:
  mutable std::atomic<std::size_t> most_ = 0;
};

}  // namespace

TEST_CASE("FASTQ text: the largest batches, with their padding, take all of what one may take") {
  constexpr std::size_t kBatch = std::size_t{1} << 16;
  const ScratchFolder folder;
  io::InputOptions options;
  options.batch_bytes = kBatch;
  const NotedMemory memory;
  // Chunks are equal; among some sizes of files there is one that they divide nearly as they may be at most.
  for (std::size_t i = 0; i < 5; ++i) {
    const std::string path = folder.write("reads.fq", fastq(150 * kBatch + i * kBatch / 5, 7, 100));
    io::InputSet inputs({path}, options);
    inputs.enable_raw_text(memory);
    std::size_t bytes = 0;
    io::Batch batch;
    while (inputs.next(batch)) bytes += batch.raw_text().size();
    CHECK(bytes == std::filesystem::file_size(path));
  }
  CHECK(memory.most() <= kBatch);
  CHECK(memory.most() > kBatch - io::PaddedText::kPadding);
}
