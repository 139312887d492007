// Large FASTQ files read by several threads at once: the same records, ordinals and errors as by one.

#include <atomic>
#include <mutex>
#include <thread>

#include "io/blocks/file_blocks.h"
#include "io/fastx/text_stream.h"
#include "unit/io/io_fixture.h"

using namespace io_test;

namespace {

struct Reading {
  std::map<std::uint64_t, Record> records;  ///< by ordinal
  std::string error;
  std::uint64_t counted = 0;                                    ///< as the set counts records
  std::uint64_t bytes = 0;                                      ///< that batches accounted for
  bool once = true;                                             ///< no ordinal twice
  std::map<std::uint64_t, std::vector<std::uint64_t>> batches;  ///< records' ordinals, by batches'
};

/// Small batches, so that small files are large.
io::InputOptions options_for(unsigned threads) {
  io::InputOptions options;
  options.batch_bytes = 4096;
  options.threads = threads;
  options.overlap_bases = 10;
  return options;
}

Reading read_by(const std::string& path, const io::InputOptions& options) {
  Reading reading;
  std::mutex mutex;
  io::InputSet inputs({path}, options);
  const auto work = [&] {
    io::Batch batch;
    try {
      while (inputs.next(batch)) {
        const std::lock_guard lock(mutex);
        reading.bytes += batch.input_bytes;
        std::vector<std::uint64_t>& ordinals = reading.batches[batch.ordinal];
        CHECK(ordinals.empty());
        for (const io::Piece& piece : batch.pieces) {
          const Record record{std::string(batch.name(piece)), std::string(batch.bases(piece))};
          reading.once = reading.records.emplace(piece.record, record).second && reading.once;
          ordinals.push_back(piece.record);
        }
      }
    } catch (const warpmer::InputError& error) {
      const std::lock_guard lock(mutex);
      reading.error = error.what();
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < options.threads; ++t) threads.emplace_back(work);
  for (auto& thread : threads) thread.join();
  reading.counted = inputs.records();
  return reading;
}

/// Batches are numbered from 0, in the order of their records.
void check_order(const Reading& reading) {
  std::uint64_t batch = 0, last = 0;
  for (const auto& [ordinal, records] : reading.batches) {
    CHECK(ordinal == batch++);
    for (const std::uint64_t record : records) {
      CHECK(record >= last);
      last = record;
    }
  }
}

void check_same(const std::string& text, io::InputOptions options = options_for(4)) {
  const TempFolder folder;
  const std::string path = folder.file("reads.fq", text);
  io::InputOptions alone = options;
  alone.threads = 1;
  const Reading one = read_by(path, alone);
  REQUIRE(io::SharedStreamReader::is_large(text.size(), options));
  for (int round = 0; round < 6; ++round) {
    options.in_order = round % 2 == 1;
    const Reading many = read_by(path, options);
    if (options.in_order) check_order(many);
    CHECK(many.error == one.error);
    CHECK(many.once);
    if (!one.error.empty()) continue;  // how far others came is chance
    CHECK((many.records == one.records));
    CHECK(many.counted == one.counted);
    CHECK(many.bytes == text.size());
  }
}

TEST_CASE("a large file gives the same records to many threads") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    check_same(fastq(40000 + seed * 777, seed));
  }
}

TEST_CASE("ordinary files are parsed before their blocks' turns, others in their turns") {
  const TempFolder folder;
  const std::atomic<bool> cancelled = false;
  const io::InputOptions options = options_for(1);
  const auto is_in_order = [&](const std::string& text) {
    const std::size_t most = io::SharedStreamReader::largest_block(options);
    io::SharedStreamReader stream(std::make_unique<io::FileBlocks>(folder.file("reads.fq", text), "reads.fq",
                                                                   most, cancelled, text.size()),
                                  "reads.fq", options, cancelled);
    io::Batch batch;
    io::ReaderShare share;
    while (stream.fill(batch, share)) CHECK_FALSE(batch.pieces.empty());
    CHECK(share.disk_bytes == text.size());
    return stream.speculative_parses() < (text.size() + most - 1) / most;
  };
  for (unsigned seed = 0; seed < 50; ++seed) CHECK_FALSE(is_in_order(fastq(40000 + 100 * seed, seed, 100)));
  CHECK_FALSE(is_in_order(fastq(40000, 1, 100) + "\n\n"));
  CHECK(is_in_order(fastq(40000, 2, 3000)));
}

TEST_CASE("with a quality threshold, too") {
  io::InputOptions options = options_for(3);
  options.reading.min_base_quality = 20;
  check_same(fastq(50000, 1), options);
}

TEST_CASE("line ends, blank lines, no final newline") {
  const std::string text = fastq(50000, 2);
  std::string crlf;
  for (const char c : text) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  check_same(crlf);
  check_same(text.substr(0, text.size() - 1));
  check_same(text + "\n\n\n");
  const std::size_t middle = text.find("\n@read", 25000) + 1;
  check_same(text.substr(0, middle) + "\n\n" + text.substr(middle));
}

TEST_CASE("records of several lines, long records, sequences in between") {
  const std::string text = fastq(50000, 3);
  const std::size_t middle = text.find("\n@read", 25000) + 1;
  const auto with = [&](const std::string& more) {
    return text.substr(0, middle) + more + text.substr(middle);
  };
  check_same(with("@lines\nACGT\nACGT\n+\n@III\n+III\n"));
  check_same(with("@name comment\nACGT\n+name\nIIII\n"));
  check_same(with("@ name comment\nACGT\n+other\nIIII\n"));
  check_same(with("@blanks\nACGT \n+\nIIII\t\n \n"));
  check_same(with("@long\n" + std::string(9000, 'A') + "\n+\n" + std::string(9000, '@') + "\n"));
  check_same(with(">fasta\nACGT\nACGT\n"));
  // All of it.
  std::string lines;
  for (int i = 0; i < 2000; ++i) lines += "@r" + std::to_string(i) + "\nACGTACGT\nACG\n+\n@IIII\n+IIIII\n";
  check_same(lines);
  lines.clear();
  for (int i = 0; i < 2000; ++i)
    lines += "@  r" + std::to_string(i) + "\nACGTACGT\n+another " + std::to_string(i) + "\nIIIIIIII\n";
  check_same(lines);
}

TEST_CASE("tiny records") {
  std::string text;
  for (int i = 0; i < 8000; ++i) text += "@\nA\n+\nI\n";
  check_same(text);
}

TEST_CASE("errors name the place that one thread would name") {
  const std::string text = fastq(60000, 4);
  for (const std::size_t at : {100u, 20000u, 40000u, 59000u}) {
    CAPTURE(at);
    const std::size_t record = text.find("\n@read", at) + 1;
    check_same(text.substr(0, record) + "@bad\nACGT\n+\nIII\n" + text.substr(record));
    check_same(text.substr(0, record) + "@bad\nACGT\n" + text.substr(record));
    check_same(text.substr(0, record) + "nonsense\n" + text.substr(record));
    check_same(text.substr(0, record) + "@joined\nACGT\n+\nIIII" + text.substr(record));
    check_same(text.substr(0, record) + "@old\rACGT\r+\rIIII\r" + text.substr(record));
    check_same(text.substr(0, std::max<std::size_t>(record, 33000)) + "@cut\nACGT");
  }
}

}  // namespace
