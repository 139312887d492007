// Text read by several threads at once, decompressed or of a large file: the same records, ordinals and
// errors as by one, wherever texts begin and end.

#include "io/fastx/text_stream.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/warning.h"
#include "io/blocks/file_blocks.h"
#include "io/blocks/read_ahead.h"
#include "random_text.h"
#include "tier.h"
#include "unit/io/io_fixture.h"

using namespace io_test;

namespace {

const std::atomic<bool> kNeverCancelled = false;

/// The cut of a text into blocks, and its results.
struct Cut {
  std::size_t longest = 1000;  ///< bytes in a text; at least 1
  unsigned seed = 0;
  std::size_t fails_at = std::string::npos;  ///< there the rest is an error
  unsigned threads = 2;                      ///< that make blocks; 0: the readers do
};

/// Hands out a text in blocks of random sizes, some of which have several texts and some nothing.
class RandomBlocks final : public io::TextBlockLoader {
 public:
  RandomBlocks(const std::string& text, const Cut& cut) : text_(text), cut_(cut), random_(cut.seed) {}

  [[nodiscard]] std::size_t text_capacity() const noexcept override { return cut_.longest; }
  bool load(io::TextBlock& block) override {
    if (at_ >= cut_.fails_at) throw warpmer::InputError("the rest cannot be read");
    if (at_ == text_.size()) return false;
    const std::size_t parts = random_() % 8 == 0 ? 3 : 1;
    const std::size_t size = random_() % 20 == 0 ? 0 : 1 + random_() % (parts * cut_.longest);
    const std::size_t end = std::min({at_ + size, text_.size(), cut_.fails_at});
    block.scratch = std::make_shared<std::string>(text_, at_, end - at_);
    block.disk_bytes = end - at_;
    block.is_handed_over = false;
    at_ = end;
    return true;
  }
  void work(io::TextBlock& block) override {
    std::this_thread::yield();
    block.has_more = static_cast<const std::string*>(block.scratch.get())->size() > cut_.longest;
  }
  bool hand_over(io::TextBlock& block) override {
    auto& rest = *static_cast<std::string*>(block.scratch.get());
    block.text_size = std::min(rest.size(), cut_.longest);
    std::copy_n(rest.data(), block.text_size, block.text.get());
    rest.erase(0, block.text_size);
    return !rest.empty();
  }

 private:
  const std::string& text_;
  const Cut cut_;
  std::mt19937 random_;
  std::size_t at_ = 0;
};

struct Reading {
  using Place = std::pair<std::string, std::uint64_t>;  ///< file, and ordinal
  std::map<Place, Record> records;
  std::set<Place> incomplete;
  std::vector<std::string> errors;
  std::uint64_t counted = 0, ahead = 0;
  std::uint64_t disk_bytes = 0;  ///< that batches or readers account for
  std::uint64_t bytes_done = 0;  ///< of files

  [[nodiscard]] std::string error() const { return errors.empty() ? "" : errors[0]; }
};

/// Takes a piece in, which comes after the pieces before it.
void take(const io::Batch& batch, const io::Piece& piece, std::uint32_t overlap, Reading& reading) {
  const Reading::Place place(batch.file, piece.record);
  Record& record = reading.records[place];
  const std::string_view bases = batch.bases(piece);
  if (piece.first_base == 0) {
    REQUIRE(record.bases.empty());
    record = {std::string(batch.name(piece)), std::string(bases)};
  } else {
    REQUIRE(piece.first_base + overlap == record.bases.size());
    record.bases += bases.substr(overlap);
  }
  if (piece.last) {
    reading.incomplete.erase(place);
  } else {
    reading.incomplete.insert(place);
  }
}

/// Takes in what is in all batches, which are numbered from 0, in the order of their records or not.
void join(const std::map<std::uint64_t, io::Batch>& batches, const io::InputOptions& options,
          Reading& reading) {
  std::vector<std::pair<const io::Batch*, const io::Piece*>> pieces;
  std::uint64_t next = 0;
  for (const auto& [number, batch] : batches) {
    CHECK(number == next++);
    for (const io::Piece& piece : batch.pieces) pieces.emplace_back(&batch, &piece);
  }
  const auto place = [](const auto& each) {
    return std::tie(each.first->file, each.second->record, each.second->first_base);
  };
  if (options.in_order) {
    CHECK(std::ranges::is_sorted(pieces, {}, place));
  } else if (reading.errors.empty()) {
    std::ranges::sort(pieces, {}, place);
  } else {
    return;  // how far others came is chance
  }
  for (const auto& [batch, piece] : pieces) take(*batch, *piece, options.overlap_bases, reading);
}

/// Fills a batch and returns its number; nothing at the end.
using Read = std::function<std::optional<std::uint64_t>(io::Batch&)>;

/// Reads by several threads, each by the way that `begin` returns for it.
Reading read_by_threads(const io::InputOptions& options, const std::function<Read(unsigned)>& begin) {
  Reading reading;
  std::mutex mutex;
  std::map<std::uint64_t, io::Batch> batches;
  const auto work = [&](unsigned thread) {
    const Read read = begin(thread);
    io::Batch batch;
    try {
      while (const auto number = read(batch)) {
        const std::lock_guard lock(mutex);
        CHECK_FALSE(batch.pieces.empty());
        CHECK(batches.emplace(*number, std::move(batch)).second);
        batch = {};
      }
    } catch (const warpmer::InputError& error) {
      const std::lock_guard lock(mutex);
      reading.errors.emplace_back(error.what());
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < options.threads; ++t) threads.emplace_back(work, t);
  for (auto& thread : threads) thread.join();
  for (const auto& [number, batch] : batches) reading.disk_bytes += batch.input_bytes;
  join(batches, options, reading);
  return reading;
}

/// Read from files.
Reading read_files(const std::vector<std::string>& paths, const io::InputOptions& options) {
  io::InputSet inputs(paths, options);
  Reading reading = read_by_threads(options, [&](unsigned) -> Read {
    return [&](io::Batch& batch) { return inputs.next(batch) ? std::optional(batch.ordinal) : std::nullopt; };
  });
  reading.counted = inputs.records();
  reading.bytes_done = inputs.progress().bytes_done;
  return reading;
}

/// Read by one thread, from a source that is never interrupted.
Reading read_alone(const std::string& text, const io::InputOptions& options, const Cut& cut = {}) {
  Reading reading;
  io::TextReader reader(
      std::make_unique<io::ReadAhead>(std::make_unique<RandomBlocks>(text, cut), 1, kNeverCancelled), "in.fq",
      options);
  io::Batch batch;
  try {
    while (reader.fill(batch)) {
      for (const io::Piece& piece : batch.pieces) take(batch, piece, options.overlap_bases, reading);
    }
  } catch (const warpmer::InputError& error) {
    reading.errors.emplace_back(error.what());
  }
  reading.counted = reader.records();
  return reading;
}

/// Read by several from blocks.
Reading read_together(const std::string& text, const io::InputOptions& options, const Cut& cut) {
  std::atomic<bool> cancelled = false;
  auto stream = std::make_shared<io::SharedStreamReader>(
      std::make_unique<io::ReadAhead>(std::make_unique<RandomBlocks>(text, cut), cut.threads, cancelled,
                                      options.threads),
      "in.fq", options, cancelled);
  std::vector<std::unique_ptr<io::RecordReader>> readers;
  for (unsigned t = 0; t < options.threads; ++t)
    readers.push_back(io::SharedReader<io::SharedStreamReader>(stream).another());
  io::InputOptions in_order = options;  // of blocks, batches are numbered in order of their records
  in_order.in_order = true;
  Reading reading = read_by_threads(in_order, [&](unsigned thread) -> Read {
    return [&reader = *readers[thread]](io::Batch& batch) {
      return reader.fill(batch) ? reader.batch_number() : std::nullopt;
    };
  });
  cancelled = true;
  CHECK(reading.errors.size() <= 1);
  reading.disk_bytes = 0;
  for (const auto& reader : readers) {
    reading.counted += reader->records();
    reading.disk_bytes += reader->disk_bytes();
  }
  reading.ahead = stream->speculative_parses();
  return reading;
}

io::InputOptions options_for(unsigned threads, std::size_t batch_bytes = 8192) {
  io::InputOptions options;
  options.batch_bytes = batch_bytes;
  options.threads = threads;
  options.overlap_bases = 10;
  return options;
}

/// Checks what blocks of one size gave.
void check_blocks(const Reading& many, const Reading& one, const std::string& text) {
  CHECK(many.error() == one.error());
  // Nothing that is given out was not in the text; and without an error, all is.
  for (const auto& [place, record] : many.records) {
    const auto same = one.records.find(place);
    if (same != one.records.end() && !many.incomplete.contains(place) && !one.incomplete.contains(place))
      CHECK(record == same->second);
  }
  if (!one.errors.empty()) return;
  CHECK((many.records == one.records));
  CHECK(many.incomplete.empty());
  CHECK(many.counted == one.counted);
  CHECK(many.disk_bytes == text.size());
}

/// Checks that a file of a text gives the same to many threads, in order or not, as to one.
void check_file(const std::string& text, io::InputOptions options) {
  options.batch_bytes = 4096;  // so that small files are large
  options.threads = 1;
  if (text.size() < 40'000) return;
  REQUIRE(io::SharedStreamReader::is_large(text.size(), options));
  const ScratchFolder folder;
  const std::string path = folder.write("reads.fq", text);
  const Reading one = read_files({path}, options);
  options.threads = 4;
  for (int round = 0; round < 6; ++round) {
    options.in_order = round % 2 == 1;
    const Reading many = read_files({path}, options);
    CHECK(many.error() == one.error());
    if (!one.errors.empty()) continue;
    CHECK((many.records == one.records));
    CHECK(many.incomplete.empty());
    CHECK(many.counted == one.counted);
    CHECK(many.disk_bytes == text.size());
  }
}

/// Checks that texts of any size, and a file, give the same as one thread; returns the number of texts that
/// were parsed ahead.
std::uint64_t check_same(const std::string& text, const io::InputOptions& options = options_for(3)) {
  const Reading one = read_alone(text, options);
  std::uint64_t ahead = 0;
  unsigned seed = 0;
  for (const std::size_t longest : {1, 20, 100, 400, 1000, 5000, 60'000}) {
    if (text.size() / longest > 3000) continue;
    CAPTURE(longest);
    // By threads of their own, and by the readers.
    const unsigned makers = ++seed % 2 == 0 ? 2 : 0;
    const Reading many = read_together(text, options, {.longest = longest, .seed = seed, .threads = makers});
    check_blocks(many, one, text);
    ahead += many.ahead;
  }
  check_file(text, options);
  return ahead;
}

std::string fasta(unsigned seed, std::size_t records, std::size_t longest, std::size_t width) {
  std::mt19937 random(seed);
  std::string text;
  for (std::size_t i = 0; i < records; ++i) {
    text += ">r" + std::to_string(i) + (i % 3 == 0 ? " > comment" : "") + "\n";
    text += wrapped(random_bases(random, random() % longest), width, "\n");
  }
  return text;
}

}  // namespace

TEST_CASE("io text stream: ordinary FASTQ and FASTA are parsed ahead") {
  for (unsigned seed = 0; seed < warpmer::tests::by_tier(10U, 2U); ++seed) {
    CAPTURE(seed);
    CHECK(check_same(fastq(40'000 + 777 * seed, seed)) > 30);
    CHECK(check_same(fasta(seed, 200, 300, 0)) > 30);
    CHECK(check_same(fasta(seed, 200, 300, 60)) > 30);
  }
  // Nearly all of them.
  const std::string text = fastq(400'000, 1);
  const Reading many = read_together(text, options_for(3), {4000, 1});
  CHECK(many.ahead > 400'000 / 4000 / 2);
}

TEST_CASE(
    "io text stream: of files, ordinary ones are parsed before their blocks' turns, others in their turns") {
  const ScratchFolder folder;
  const io::InputOptions options = options_for(1, 4096);
  const auto is_in_order = [&](const std::string& text) {
    const std::size_t most = io::SharedStreamReader::largest_block(options);
    io::SharedStreamReader stream(std::make_unique<io::FileBlocks>(folder.write("reads.fq", text), "reads.fq",
                                                                   most, kNeverCancelled, text.size()),
                                  "reads.fq", options, kNeverCancelled);
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

TEST_CASE("io text stream: text of every kind that is allowed") {
  for (unsigned seed = 0; seed < warpmer::tests::by_tier(20U, 4U); ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const std::string text = random_text(random, random_records(random, 1 + random() % 60, 200));
    check_same(text);
    io::InputOptions options = options_for(4, 1 + random() % 1000);
    options.reading.min_base_quality = 20;
    check_same(text, options);
    options.whole_records = true;
    check_same(text, options);
    options = options_for(3);
    options.reading.min_base_quality = 20;
    check_same(fastq(50'000, seed), options);
  }
}

TEST_CASE("io text stream: line ends, blank lines, no final newline, nothing") {
  const std::string text = fastq(50'000, 2);
  std::string crlf;
  for (const char c : text) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  check_same(crlf);
  check_same(text.substr(0, text.size() - 1));
  check_same(text + "\n\n\n");
  const std::size_t middle = text.find("\n@read", 25'000) + 1;
  check_same(text.substr(0, middle) + "\n\n" + text.substr(middle));
  check_same("");
  check_same("\n\r\n");
  check_same(">a");
}

TEST_CASE("io text stream: records of several lines, long ones, tiny ones, sequences in between") {
  const std::string text = fastq(50'000, 3);
  const std::size_t middle = text.find("\n@read", 25'000) + 1;
  const auto with = [&](const std::string& more) {
    return text.substr(0, middle) + more + text.substr(middle);
  };
  check_same(with("@lines\nACGT\nACGT\n+\n@III\n+III\n"));
  check_same(with("@name comment\nACGT\n+name\nIIII\n"));
  check_same(with("@ name comment\nACGT\n+other\nIIII\n"));
  check_same(with("@blanks\nACGT \n+\nIIII\t\n \n"));
  check_same(with("@long\n" + std::string(9000, 'A') + "\n+\n" + std::string(9000, '@') + "\n"));
  check_same(with(">fasta\nACGT\nACGT\n"));
  check_same(with(">fasta\n" + wrapped(std::string(40'000, 'A'), 70, "\n")));
  check_same(fasta(4, 5, 60'000, 70) + fasta(5, 100, 200, 60));
  std::string lines, named, tiny, tiniest;
  for (int i = 0; i < 2000; ++i) {
    const std::string number = std::to_string(i);
    lines.append("@r").append(number).append("\nACGTACGT\nACG\n+\n@IIII\n+IIIII\n");
    named.append("@  r").append(number).append("\nACGTACGT\n+another ").append(number).append("\nIIIIIIII\n");
  }
  check_same(lines);
  check_same(named);
  for (int i = 0; i < 8000; ++i) tiniest += "@\nA\n+\nI\n";
  check_same(tiniest);
  for (int i = 0; i < 4000; ++i) tiny += i % 3 == 0 ? ">\n" : i % 3 == 1 ? ">\nA\n" : "@\nC\n+\nI\n";
  check_same(tiny);
  // White space, and numbers of lines.
  check_same(with("@ blanks x\nACGT \n+other\nIIII\t\n \n"));
  check_same(with("> blanks x\n  1 ACGT ACGT \n  9 ACG\n \n"));
  std::string blocks;
  for (int i = 0; i < 1000; ++i) {
    blocks.append(i % 10 == 0 ? ">r\n" : "")
        .append("   ")
        .append(std::to_string(i))
        .append(" ACGTACGT ACG \n");
  }
  check_same(blocks);
}

TEST_CASE("io text stream: what looks like a record and is none misleads nobody") {
  // Records of several lines, of which the quality looks like records of four lines, and like FASTA.
  std::string text;
  for (int i = 0; i < 300; ++i) {
    const std::string inner = i % 2 == 0 ? "@x\nACGT\n+\nIIII\n" : ">x\nACGT\n>yy\nACGTACGT\n";
    std::string bases;
    for (const char c : inner) bases += c == '\n' ? '\n' : 'A';
    text.append("@r").append(std::to_string(i)).append("\n").append(bases).append("+\n").append(inner);
  }
  check_same(text);
  // Of a block that seems to be FASTA, the last line that could be a header: a quality, in which no file
  // ends.
  io::InputOptions options = options_for(3);
  options.reading.drops_cut_record = true;
  std::vector<std::string> warnings;
  const warpmer::WarningHandler before =
      warpmer::listen_for_warnings([&](const std::string& message) { warnings.push_back(message); });
  std::string mixed = fasta(1, 400, 60, 0);
  for (int i = 0; i < 2000; ++i)
    mixed.append("@r").append(std::to_string(i)).append("\nACGTACGTACGT\n+\n>>>>>>>>>>>>\n");
  check_same(mixed, options);
  check_same(mixed + fasta(2, 400, 60, 0) + mixed, options);
  CHECK(warnings.empty());
  check_same(mixed + "@cut\nACGT\n+\nII", options);
  CHECK_FALSE(warnings.empty());
  for (const std::string& warning : warnings) CHECK(contains(warning, "record 2401: the file ends in this"));
  warpmer::listen_for_warnings(before);
}

TEST_CASE("io text stream: errors name the place that one thread would name") {
  const std::string text = fastq(60'000, 4);
  for (const std::size_t at : {10U, 100U, 10'000U, 20'000U, 40'000U, 59'000U}) {
    CAPTURE(at);
    const std::size_t record = text.find("\n@read", at) + 1;
    const auto with = [&](const std::string& more) {
      return text.substr(0, record) + more + text.substr(record);
    };
    check_same(with("@bad\nACGT\n+\nIII\n"));
    check_same(with("@bad\nACGT\n+\nI\x01II\n"));
    check_same(with("@bad\nACGT\n"));
    check_same(with("nonsense, and more of it than what a message shows of a line\n"));
    check_same(with("@bad\nACGT\n+other\nIIIII\n"));
    check_same(with("@joined\nACGT\n+\nIIII"));
    check_same(with(">joined\nACGT\nAC>next\nACGT\n"));
    check_same(with("nonsense\n"));
    check_same(with("@old\rACGT\r+\rIIII\r"));
    check_same(text.substr(0, record) + "@cut\nACGT");
    check_same(text.substr(0, std::max<std::size_t>(record, 33'000)) + "@cut\nACGT");
  }
  check_same("neither FASTA nor FASTQ, but some text that goes on for a while\n");
}

TEST_CASE("io text stream: an error of the stream comes after the text before it") {
  const std::string text = fastq(30'000, 5);
  for (const std::size_t fails_at : {0U, 1U, 10'000U, 20'001U}) {
    const Cut cut{700, 1, fails_at};
    const Reading one = read_alone(text, options_for(3, 1), cut);
    const Reading many = read_together(text, options_for(3), cut);
    CHECK(one.error() == "the rest cannot be read");
    CHECK(many.error() == one.error());
    // All records but those that the last text has a part of.
    CHECK(many.counted + 20 > one.counted);
  }
  // An error in the text comes first.
  const std::size_t record = text.find("\n@read", 15'000) + 1;
  const std::string bad = text.substr(0, record) + "@bad\nACGT\n+\nIII\n" + text.substr(record);
  for (const unsigned makers : {0U, 2U}) {
    const Reading many = read_together(bad, options_for(3), {700, 1, record + 100, makers});
    CHECK(contains(many.error(), "('bad')"));
    CHECK(many.error() == read_alone(bad, options_for(3), {700, 1, record + 100}).error());
  }
}

TEST_CASE("io text stream: for one reader, where batches end does not depend on where texts do") {
  const std::string text = fastq(60'000, 7);
  const auto ends = [&](const Cut& cut) {
    io::TextReader reader(
        std::make_unique<io::ReadAhead>(std::make_unique<RandomBlocks>(text, cut), 1, kNeverCancelled),
        "in.fq", options_for(1));
    std::vector<std::uint64_t> records;
    for (io::Batch batch; reader.fill(batch);) records.push_back(batch.pieces.back().record);
    return records;
  };
  const std::vector<std::uint64_t> whole = ends({text.size(), 1});
  CHECK(whole.size() > 5);
  for (unsigned seed = 1; seed < 20; ++seed) CHECK(ends({100 * seed, seed}) == whole);
}

TEST_CASE("io text stream: compressed files, by many threads, in order and not") {
  const ScratchFolder folder;
  const std::string text = fastq(warpmer::tests::by_tier<std::size_t>(12'000'000, 4'000'000), 6);
  const std::string end = "@last\nACGT\n+\nIII\n";
  const struct {
    const char* what;
    std::string data;
    const char* error;
  } cases[] = {
      {"gzip", deflate(text, 1), ""},
      {"bgzf", bgzf(text), ""},
      {"gzip with a wrong record at its end", deflate(text, 1) + deflate(end, 1), "('last')"},
      {"gzip that ends too soon", deflate(text, 1).substr(0, text.size() / 8), "truncated: the file ends"},
  };
  for (const auto& each : cases) {
    CAPTURE(each.what);
    const std::vector<std::string> paths = {folder.write("first.gz", each.data),
                                            folder.write("next.gz", each.data)};
    io::InputOptions options;
    options.overlap_bases = 10;
    options.threads = 1;
    const Reading one = read_files(paths, options);
    CHECK(one.errors.empty() == (*each.error == '\0'));
    CHECK(contains(one.error(), each.error));
    // Few threads decompress what they read; with many, others do.
    const std::pair<unsigned, bool> ways[] = {{2, true}, {4, false}, {4, true}, {8, true}};
    for (const auto& [thread_count, in_order] : ways) {
      options.threads = thread_count;
      options.in_order = in_order;
      const Reading many = read_files(paths, options);
      const auto said = [](const std::string& error) { return error.substr(error.find(": ") + 1); };
      CHECK(said(many.error()) == said(one.error()));
      if (!one.errors.empty()) continue;
      CHECK(many.bytes_done == 2 * each.data.size());
      CHECK((many.records == one.records));
    }
  }
}
