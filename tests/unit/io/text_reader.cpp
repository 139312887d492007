// FASTA and FASTQ as text: every allowed form, every cut, every batch size.
// ctest: one thread

#include "io/fastx/text_reader.h"

#include <fmt/format.h>

#include <cstring>

#include "base/warning.h"
#include "random_text.h"
#include "tier.h"
#include "unit/io/io_fixture.h"

using namespace io_test;

namespace {

/// A text that goes on with bases for ever.
class Endless final : public warpmer::file::ByteSource {
 public:
  explicit Endless(std::string_view begin) : begin_(begin) {}
  std::size_t read(char* into, std::size_t size) override {
    const std::size_t count = begin_.copy(into, size);
    begin_.remove_prefix(count);
    std::memset(into + count, 'A', size - count);
    return size;
  }
  [[nodiscard]] std::uint64_t disk_bytes() const noexcept override { return 0; }

 private:
  std::string_view begin_;
};

/// Reads `text` with several batch sizes, and expects the same records each time.
void check_reads_as(const std::string& text, const Records& expected) {
  const ScratchFolder folder;
  const std::string path = folder.write("in", text);
  for (const std::size_t batch_bytes :
       {std::size_t{1}, std::size_t{300}, std::size_t{5000}, std::size_t{4} << 20}) {
    for (const std::uint32_t overlap : {0U, 30U}) {
      CAPTURE(batch_bytes);
      CAPTURE(overlap);
      io::InputOptions options;
      options.batch_bytes = batch_bytes;
      options.overlap_bases = overlap;
      CHECK(read_all({path}, options) == expected);
    }
  }
}

std::string error_in(const std::string& text, const io::InputOptions& options = {}) {
  const ScratchFolder folder;
  const std::string path = folder.write("in.fq", text);
  std::string message = input_error({path}, options);
  if (!message.empty()) {
    CHECK(message.starts_with(path));
    message = message.substr(path.size() - 5);
  }
  return message;
}

void check_error(const std::string& text, const std::vector<std::string>& parts) {
  const std::string message = error_in(text);
  CAPTURE(text);
  CAPTURE(message);
  CHECK(!message.empty());
  for (const std::string& part : parts) {
    CAPTURE(part);
    CHECK(contains(message, part));
  }
}

}  // namespace

TEST_CASE("io text: a record that is longer than may be is refused, a sequence that comes in pieces is not") {
  constexpr std::size_t kMost = std::size_t{1} << 20;
  const ScratchFolder folder;
  const auto fastq = [](std::size_t bases) {
    return fmt::format("@short\nAC\n+\nII\n@long one\n{}\n+\n{}\n", std::string(bases, 'A'),
                       std::string(bases, 'I'));
  };
  const std::string fasta = ">long one\n" + std::string(3 * kMost, 'A') + "\n";
  for (const std::size_t batch_bytes : {std::size_t{300}, std::size_t{100'000}, kMost / 2}) {
    CAPTURE(batch_bytes);
    io::InputOptions options;
    options.batch_bytes = batch_bytes;
    options.longest_record_bytes = kMost;
    const auto refusal_of = [&](const std::string& text) {
      return refusal<warpmer::ResourceError>([&] { read_all({folder.write("in", text)}, options); });
    };
    CHECK(refusal_of(fastq(kMost / 2 - 100)).empty());
    const std::string error = refusal_of(fastq(kMost));
    CAPTURE(error);
    CHECK(contains(error, "in: the record '@long' does not end within 1 MiB"));
    CHECK(refusal_of(fasta).empty());
    CHECK(contains(refusal_of(">" + fasta.substr(10)), "does not end within"));  // all of it is a header
    options.whole_records = true;
    CHECK(contains(refusal_of(fasta), "the record '>long' does not end within 1 MiB"));
  }
}

TEST_CASE("io text: FASTA in all its forms") {
  check_reads_as(">a\nACGT\n", {{"a", "ACGT"}});
  check_reads_as(">a\nACGT", {{"a", "ACGT"}});
  check_reads_as(">a b c\nACGT\nTT\n\n>c\td\nGG\n", {{"a", "ACGTTT"}, {"c", "GG"}});
  check_reads_as(">a\r\nAC\r\nGT\r\n\r\n>b\r\nTT\r\n", {{"a", "ACGT"}, {"b", "TT"}});
  check_reads_as("\n\r\n\n>a\nacgtn\n", {{"a", "acgtn"}});
  check_reads_as(">a\n>b\n\n>c\n", {{"a", ""}, {"b", ""}, {"c", ""}});
  check_reads_as(">a", {{"a", ""}});
  check_reads_as(">\nAC\n", {{"", "AC"}});
  check_reads_as("> a\nAC\n", {{"a", "AC"}});  // the name is the next word
  check_reads_as(">\t a b\nAC\n>  \nGT\n", {{"a", "AC"}, {"", "GT"}});
  check_reads_as(">a\nAC\rGT\r\r\n", {{"a", "ACGT"}});
  check_reads_as(">a\nACGT\r", {{"a", "ACGT"}});
  check_reads_as("", {});
  check_reads_as("\n\n\r\n", {});
}

TEST_CASE("io text: a byte order mark in front is skipped, in compressed text too") {
  const ScratchFolder folder;
  const std::string mark = "\xef\xbb\xbf";
  for (const std::string text : {">a\nAC\n>b\nGT\n", "@a\r\nAC\r\n+\r\nII\r\n>b\r\nGT"}) {
    check_reads_as(mark + text, {{"a", "AC"}, {"b", "GT"}});
    check_reads_as(deflate(mark + text), {{"a", "AC"}, {"b", "GT"}});
  }
  check_reads_as(mark, {});
}

TEST_CASE("io text: white space is no base, wherever it is in a sequence") {
  check_reads_as(">a\nAC GT\t\nTT\n", {{"a", "ACGTTT"}});
  check_reads_as(">a\nACGT   \n   \n\t\nTT \x0c\n \n>b\nGG \n", {{"a", "ACGTTT"}, {"b", "GG"}});
  check_reads_as(" \n\t\r\n>a\nACGT \r\nTT\r\n  ", {{"a", "ACGTTT"}});
  // Lines of GenBank, with their numbers; a number is no number where it is not by itself.
  check_reads_as(">a\n        1 acgtacgtac ggtt\n       15 ccgg  tt\n>b\n1 A\n",
                 {{"a", "acgtacgtacggttccggtt"}, {"b", "A"}});
  check_reads_as(">a\n12\nAC 12 GT\n1AC\n", {{"a", "12AC12GT1AC"}});
  // Long enough for lines to be cut by the end of a batch, at any of their characters.
  std::mt19937 random(11);
  std::string text, bases;
  for (std::size_t line = 0; line < 400; ++line) {
    text += std::string(random() % 12, ' ') + std::to_string(bases.size() + 1);
    for (std::size_t block = 0; block < 6; ++block) {
      const std::string more = random_bases(random, 1 + random() % 10);
      text += std::string(1 + random() % 3, " \t"[random() % 2]) + more;
      bases += more;
    }
    text += line % 3 == 0 ? " \r\n" : "\n";
  }
  check_reads_as(">a x\n" + text + "> b\n" + text, {{"a", bases}, {"b", bases}});
}

TEST_CASE("io text: blanks at the end of FASTQ lines") {
  check_reads_as("@a\nACGT \n+\nIIII\n@b\nAC\n+ \nII\t \n@c\nGG\n+\nII\n",
                 {{"a", "ACGT"}, {"b", "AC"}, {"c", "GG"}});
  check_reads_as("@a\nACGT \n+\nIIII \n \n@ b c\nAC \r\nGT\r\n+\nII \nII\n", {{"a", "ACGT"}, {"b", "ACGT"}});
  check_error("@a\nACGT \n+\nIIIII\n", {"record 1 ('a')", "5 characters", "sequence 4"});
}

TEST_CASE("io text: what the '+' line says does not matter where lengths agree") {
  check_reads_as("@a x\nACGT\n+old.1 x\nIIII\n@b\nAA\n+a\n@@\n@c\r\nAC\r\n+d\r\nII\r\n",
                 {{"a", "ACGT"}, {"b", "AA"}, {"c", "AC"}});
  check_reads_as("@a\nAC\nGT\n+b\nII\nII\n", {{"a", "ACGT"}});
  check_error("@a\nACGT\n+\nIIII\n@b\nAC\n+c\nIII\n", {"record 2 ('b')", "line 8", "'c'", "mixed up"});
}

TEST_CASE("io text: files that were joined without a line end between them") {
  for (const std::string text : {">a\nACGT\nAC>b\nGGTT\n", ">a\nACGT@b\nACGT\n+\nIIII\n"}) {
    check_error(text, {"record 1 ('a')", "middle of a sequence line", "two files were joined", "awk 1"});
    CHECK_FALSE(contains(error_in(text), "--lenient"));
  }
  check_error(">a\nACGT\nAC>b\nGGTT\n", {"line 3", "'>'"});
  check_error(">a\nACGT\n  >b\nGGTT\n", {"line 3", "behind blanks"});
  check_error("@a\nACGT\n+\nIIII@b\nACGT\n+\nIIII\n", {"record 1 ('a')", "two files were joined"});
  check_error("@a\nACGT\n+\nIIII>b\nACGT\n", {"record 1 ('a')", "two files were joined"});
}

TEST_CASE("io text: FASTQ in all its forms") {
  check_reads_as("@a\nACGT\n+\nIIII\n", {{"a", "ACGT"}});
  check_reads_as("@a\nACGT\n+\nIIII", {{"a", "ACGT"}});
  check_reads_as("@a x\nACGT\n+a x\nIIII\n@b\nAA\n+b\n@@\n", {{"a", "ACGT"}, {"b", "AA"}});
  check_reads_as("@a x\nACGT\n+a\nIIII\n", {{"a", "ACGT"}});
  check_reads_as("@a\r\nACGT\r\n+\r\nIIII\r\n@b\r\nA\r\n+\r\n+\r\n", {{"a", "ACGT"}, {"b", "A"}});
  check_reads_as("@a\nAC\nGT\n+\n@I\n+I\n@b\nA\n+\n@\n", {{"a", "ACGT"}, {"b", "A"}});
}

TEST_CASE("io text: empty FASTQ records") {
  check_reads_as("@a\n\n+\n\n@b\nA\n+\nI\n", {{"a", ""}, {"b", "A"}});
  check_reads_as("@a\n\n+\n@b\nA\n+\nI\n", {{"a", ""}, {"b", "A"}});
  check_reads_as("@a\n+\n@b\nA\n+\nI\n", {{"a", ""}, {"b", "A"}});
  check_reads_as("@a\r\n\r\n+\r\n\r\n@b\r\nA\r\n+\r\nI\r\n", {{"a", ""}, {"b", "A"}});
  check_reads_as("@a\n\n+\n\n", {{"a", ""}});
  check_reads_as("@a\n\n+", {{"a", ""}});
}

TEST_CASE("io text: FASTA and FASTQ mixed in one stream") {
  check_reads_as("@a\nACGT\n+\nIIII\n>b\nAC\nGT\n@c\nTT\n+\n>>\n\n>d\nA",
                 {{"a", "ACGT"}, {"b", "ACGT"}, {"c", "TT"}, {"d", "A"}});
}

TEST_CASE("io text: random records in random forms, whatever the batch size") {
  std::mt19937 random(7);
  const ScratchFolder folder;
  for (int round = 0; round < 150; ++round) {
    const Records records = random_records(random, 1 + random() % 40, round % 3 == 0 ? 3000 : 120);
    const std::string path = folder.write("in", random_text(random, records));
    io::InputOptions options;
    options.batch_bytes = round % 5 == 0 ? std::size_t{4} << 20 : 1 + random() % 6000;
    options.overlap_bases = random() % 64;
    CAPTURE(round);
    REQUIRE(read_all({path}, options) == records);
  }
}

TEST_CASE("io text: a record that fits a batch is one piece, a longer FASTA sequence many") {
  std::mt19937 random(8);
  const ScratchFolder folder;
  const Records records = {{"short", random_bases(random, 1000)},
                           {"chromosome", random_bases(random, 100'000)},
                           {"other", random_bases(random, 3000)}};
  for (const std::size_t width : {std::size_t{0}, std::size_t{60}}) {
    std::string text;
    for (const Record& r : records) text += ">" + r.name + "\n" + wrapped(r.bases, width, "\n");
    const std::string path = folder.write("in.fa", text);
    io::InputOptions options;
    options.batch_bytes = 8000;
    options.overlap_bases = 30;
    CHECK(read_all({path}, options) == records);

    io::InputSet inputs({path}, options);
    io::Batch batch;
    std::size_t pieces = 0;
    while (inputs.next(batch)) {
      CHECK(batch.text.capacity() < 12'000);
      for (const io::Piece& piece : batch.pieces) {
        pieces += piece.record == 2;
        if (piece.record != 2) CHECK((piece.last && piece.first_base == 0));
      }
    }
    CHECK(pieces > 10);
    CHECK(pieces < 25);
  }
}

TEST_CASE("io text: a FASTQ record longer than a batch grows it, for that once") {
  std::mt19937 random(9);
  const ScratchFolder folder;
  io::InputOptions options;
  options.batch_bytes = 16 << 10;
  for (const std::size_t length : {400'000, 10'000}) {
    Records records = random_records(random, 50, 200);
    records.push_back({"long", random_bases(random, length)});
    for (const Record& r : random_records(random, 50, 200)) records.push_back(r);
    const std::string path = folder.write("in.fq", fastq(records));
    CHECK(read_all({path}, options) == records);
    io::InputSet inputs({path}, options);
    io::Batch batch;
    std::size_t largest = 0;
    while (inputs.next(batch)) largest = std::max(largest, batch.text.capacity());
    CHECK(largest > 2 * length);
    CHECK(batch.text.capacity() <= options.batch_bytes / 4 * 5);  // what `memory_bytes` counts
  }
}

TEST_CASE("io text: FASTQ cut anywhere gives the same records or an error") {
  const std::vector<std::string> texts = {
      "@r1 c\nACGT\n+\nIIII\n@r2\nGG\n+r2\nII\n@r3\nTTT\n+\n@II\n",
      "@r1 c\r\nACGT\r\n+\r\nIIII\r\n@r2\r\nGG\r\n+r2\r\nII\r\n",
      "@r1\nAC\nGT\n+\nII\nII\n@r2\nGG\nTT\n+\n@@\n++\n",
  };
  const ScratchFolder folder;
  for (const std::string& text : texts) {
    const Records whole = read_all({folder.write("whole", text)});
    for (std::size_t size = 0; size < text.size(); ++size) {
      CAPTURE(size);
      const std::string path = folder.write("cut", text.substr(0, size));
      for (const std::size_t batch_bytes : {std::size_t{1}, std::size_t{1} << 20}) {
        io::InputOptions options;
        options.batch_bytes = batch_bytes;
        Records read;
        try {
          read = read_all({path}, options);
        } catch (const warpmer::InputError&) {
          continue;
        }
        // Records that were read are whole, and the others had not begun.
        REQUIRE(read.size() <= whole.size());
        CHECK(std::equal(read.begin(), read.end(), whole.begin()));
        std::size_t records_begun = 0;
        for (std::size_t i = 0; i < size; ++i) {
          records_begun += (i == 0 || text[i - 1] == '\n') && text.compare(i, 2, "@r") == 0;
        }
        CHECK(read.size() == records_begun);
      }
    }
  }
}

TEST_CASE("io text: a record in which the file ends may be left out") {
  const ScratchFolder folder;
  const std::string whole = "@a\nACGT\n+\nIIII\n@b x\nACGTA\nCC\n+b\nIIII\nIII\n";
  io::InputOptions options;
  options.reading.drops_cut_record = true;
  std::vector<std::string> warnings;
  const warpmer::WarningHandler before =
      warpmer::listen_for_warnings([&](const std::string& message) { warnings.push_back(message); });
  constexpr std::size_t kFirst = 15;  // bytes of the first record
  for (std::size_t size = kFirst; size <= whole.size(); ++size) {
    CAPTURE(size);
    warnings.clear();
    io::InputSet inputs({folder.write("cut", whole.substr(0, size))}, options);
    std::size_t pieces = 0;
    for (io::Batch batch; inputs.next(batch);) pieces += batch.pieces.size();
    const bool has_one = size == kFirst, has_both = size + 1 >= whole.size();
    CHECK(pieces == (has_both ? 2 : 1));
    CHECK(inputs.records() == (has_one ? 1 : 2));
    CHECK(warnings.size() == (has_one || has_both ? 0 : 1));
    if (!warnings.empty()) CHECK(contains(warnings[0], "record 2: the file ends in this FASTQ record"));
  }
  warpmer::listen_for_warnings(before);
  // What is wrong otherwise is an error.
  options.reading.min_base_quality = 3;
  CHECK(contains(input_error({folder.write("bad", "@a\nACGT\n+\nIII\n@b\nAC\n+\nII\n")}, options),
                 "3 characters"));
}

TEST_CASE("io text: errors say where and what") {
  check_error("@a\nACGT\n+\nIII\n@b\nAC\n+\nII\n",
              {"record 1 ('a')", "line 4", "3 characters", "sequence 4"});
  check_error("@a\nACGT\n+\nIIIII\n", {"record 1", "5 characters"});
  check_error("@a\nACGT\n+\nII I\n", {"record 1", "line 4", "position 3", "' '"});
  check_error("@a\nACGT\n+\nI\x7fII\n", {"position 2", "0x7f"});
  check_error("@a\nAC\nGT\n+\nII\nI\x01\n", {"position 4", "0x01"});
  check_error("@a\nACGT\n+\nIIII\nIIII\n", {"line 5", "after record 1", "'IIII'"});
  check_error("@a\nACGT\n@b\nACGT\n+\nIIII\n", {"record 1 ('a')", "line 3", "no '+' line"});
  check_error("@a\nACGT\n>b\nACGT\n", {"record 1 ('a')", "line 3", "no '+' line"});
  check_error("@a\nACGT\n+\nIIII\n@b", {"record 2 ('b')", "truncated", "header"});
  check_error("@a\nACGT\n+\nIIII\n@b\n", {"record 2 ('b')", "truncated", "header"});
  check_error("@a\nACGT\n+\nIIII\n@b\nAC", {"record 2 ('b')", "truncated", "sequence"});
  check_error("@abc\nACGT\n+ab", {"record 1", "truncated", "0 of the 4"});
  check_error("@a\nACGT\n+\n", {"record 1", "truncated", "0 of the 4"});
  check_error("@a\nACGT\n+\nII", {"record 1", "truncated", "2 of the 4"});
  check_error("# a comment\n>a\nACGT\n", {"line 1", "neither FASTA nor FASTQ", "'# a comment'"});
  check_error("\n\nACGT\n", {"line 3", "neither FASTA nor FASTQ", "'ACGT'"});
  check_error(std::string("\x00\x01\x02", 3), {"neither FASTA nor FASTQ", "\\x00\\x01\\x02"});
  check_error("\n\xef\xbb\xbf>a\nAC\n", {"line 2", "neither FASTA nor FASTQ"});
  check_error(">a\rACGT\r>b\rAC\r", {"carriage return"});
  check_error("@a\nACGT\n+\nIIII\n>b\rACGT\r", {"record 2", "line 5", "carriage return"});
  check_error("@a\rACGT\r+\rIIII\r@b\rAC\r+\rII\r", {"record 1", "line 1", "carriage return"});
  check_error("@a\nACGT\n+\nIIII\n@b x\rACGT\r+\rIIII\r@c\nAC\n+\nII\n",
              {"record 2", "line 5", "carriage return"});
  check_error("@a\n\n+\nII\n", {"line 4", "'II'"});
  check_error("r1\t0\tchr1\t100\t60\t4M\t*\t0\t0\tACGT\tIIII\n",
              {"SAM without its header", "samtools view -h"});
}

TEST_CASE("io text: SAM inside of gzip is named") {
  const ScratchFolder folder;
  for (const char* const line : {"@HD\tVN:1.6\n", "@SQ\tSN:c\tLN:9\n", "@PG\tID:x\n"}) {
    const std::string sam = line + std::string("r1\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\n");
    CHECK(read_all({folder.write("s", sam)}) == Records{{"r1", "ACGT"}});
    CHECK(contains(input_error({folder.write("z", deflate(sam))}), "this is SAM"));
  }
}

TEST_CASE("io text: the record that a sequence is too long for is numbered as others are") {
  if (!warpmer::tests::is_full_tier()) return;  // it takes a gigabyte
  io::InputOptions options;
  options.whole_records = true;
  io::TextReader reader(std::make_unique<Endless>(">a\nAC\n>b\n"), "text", options);
  io::Batch batch;
  const std::string error = refusal<warpmer::InputError>([&] {
    while (reader.fill(batch)) {
    }
  });
  CHECK(
      contains(error, "text, record 2: the sequence does not end within 1073741824 bytes, and none that is"));
}

TEST_CASE("io text: errors in a batch do not depend on how the text was cut into batches") {
  std::string text;
  for (int i = 0; i < 500; ++i) text += "@r" + std::to_string(i) + "\nACGTACGT\n+\nIIIIIIII\n";
  text += "@bad\nACGT\n+\nII\x02I\n";
  io::InputOptions small;
  small.batch_bytes = 1;
  const std::string message = error_in(text);
  CHECK(contains(message, "record 501 ('bad'), line 2004: position 3"));
  CHECK(error_in(text, small) == message);
}

TEST_CASE("io text: bad bases are reported where they are in the record") {
  const ScratchFolder folder;
  const std::string path =
      folder.write("p.fa", ">ok\nACGT\n>prot x\n" + std::string(1000, 'A') + "\nACEF\x07\n");
  io::InputOptions options;
  options.batch_bytes = 1;
  options.overlap_bases = 20;
  io::InputSet inputs({path}, options);
  io::Batch batch;
  std::vector<std::string> messages;
  while (inputs.next(batch)) {
    for (const io::Piece& piece : batch.pieces) {
      const std::string_view bases = batch.bases(piece);
      for (const char bad : {'E', '\x07'}) {
        const std::size_t offset = bases.find(bad);
        if (offset == std::string_view::npos) continue;
        try {
          io::throw_bad_base(batch, piece, offset);
        } catch (const warpmer::InputError& error) {
          messages.emplace_back(error.what());
        }
      }
    }
  }
  REQUIRE(messages.size() >= 2);
  CHECK(contains(messages.front(), path + ", record 2 ('prot'): position 1003 of the sequence is 'E'"));
  CHECK(contains(messages.back(), "position 1005"));
  CHECK(contains(messages.back(), "0x07"));
}

TEST_CASE("io text: low qualities mask letters, and nothing else") {
  const ScratchFolder folder;
  const std::string quality = "!&'(I!";  // Phred 0 5 6 7 40 0
  const std::string path = folder.write("q.fq", "@a\nACGTAC\n+\n" + quality +
                                                    "\n@b\nacg-*5\n+\n!!!!!!\n@c\nAC\nGT\n+\n!I\n!I\n"
                                                    "@d\r\nACG\r\n+\r\nI!I\r\n>e\nACGT\n");
  io::InputOptions options;
  options.reading.min_base_quality = 6;
  CHECK(read_all({path}, options) ==
        Records{{"a", "NNGTAN"}, {"b", "NNN-*5"}, {"c", "NCNT"}, {"d", "ANG"}, {"e", "ACGT"}});
  options.reading.min_base_quality = 0;
  CHECK(read_all({path}, options)[0].bases == "ACGTAC");
  options.reading.min_base_quality = 1000;
  CHECK(read_all({path}, options)[0].bases == "NNNNNN");
}

TEST_CASE("io text: masking and checking agree with the plain definition at every length") {
  std::mt19937 random(10);
  const ScratchFolder folder;
  for (std::size_t length = 1; length < 100; ++length) {
    std::string bases(length, 'A'), quality(length, 'I'), expected;
    for (std::size_t i = 0; i < length; ++i) {
      bases[i] = "ACGTacgtNX-"[random() % 11];
      quality[i] = static_cast<char>('!' + random() % 94);
      expected += quality[i] < '!' + 20 && bases[i] != '-' ? 'N' : bases[i];
    }
    const auto record = [&](const std::string& qualities) {
      std::string text = "@a\n";
      for (const std::string& part : {bases, std::string("\n+\n"), qualities, std::string("\n")})
        text += part;
      return text;
    };
    io::InputOptions options;
    options.reading.min_base_quality = 20;
    CHECK(read_all({folder.write("q", record(quality))}, options)[0].bases == expected);
    const std::size_t bad = random() % length;
    for (const char character : {' ', '\x7f', '\x80', '\xff', '\0'}) {
      std::string spoilt = quality;
      spoilt[bad] = character;
      const bool is_trimmed = character == ' ' && bad + 1 == length;
      CHECK(contains(error_in(record(spoilt)), is_trimmed ? fmt::format("after {} of the {}", bad, length)
                                                          : fmt::format("position {}", bad + 1)));
    }
  }
}

TEST_CASE("io text: records of next to nothing do not make the list of pieces grow without bound") {
  const ScratchFolder folder;
  std::string text;
  Records records;
  for (int i = 0; i < 20'000; ++i) {
    text += i % 3 == 0 ? ">\n" : i % 3 == 1 ? ">\nA\n" : "@\nC\n+\nI\n";
    records.push_back({"", i % 3 == 0 ? "" : i % 3 == 1 ? "A" : "C"});
  }
  const std::string path = folder.write("tiny", text);
  io::InputOptions options;
  options.batch_bytes = 10'000;
  CHECK(read_all({path}, options) == records);
  io::InputSet inputs({path}, options);
  io::Batch batch;
  while (inputs.next(batch)) CHECK(batch.pieces.size() <= io::batch_pieces(options.batch_bytes));
}

namespace {

/// Gives a text little by little and, after every other read, nothing for now.
class Trickle final : public warpmer::file::ByteSource {
 public:
  explicit Trickle(std::string_view text) : text_(text) {}
  std::size_t read(char* into, std::size_t size) override {
    is_interrupted_ = !is_interrupted_ && !text_.empty();
    if (is_interrupted_) return 0;
    const std::size_t count = text_.copy(into, std::min<std::size_t>(size, 100));
    text_.remove_prefix(count);
    return count;
  }
  [[nodiscard]] bool is_interrupted() const noexcept override { return is_interrupted_; }
  [[nodiscard]] std::uint64_t disk_bytes() const noexcept override { return 0; }

 private:
  std::string_view text_;
  bool is_interrupted_ = false;
};

}  // namespace

TEST_CASE("io text: lines of many megabytes take no longer for coming in small pieces") {
  // To search them again with each piece would take hours.
  const std::size_t length = warpmer::tests::by_tier<std::size_t>(16, 4) << 20;
  const std::string long_line(length, 'A');
  for (const std::string& text :
       {fmt::format(">{}\nACGT\n>b\nAC\n", long_line), fmt::format("@a\n{0}\n+\n{0}", long_line),
        fmt::format(">a\n{}\n>b\nAC\n", long_line)}) {
    io::TextReader reader(std::make_unique<Trickle>(text), "text", {});
    io::Batch batch;
    std::size_t bases = 0;
    for (int rounds = 0; rounds < 1'000'000; ++rounds) {
      if (!reader.fill(batch)) continue;
      for (const io::Piece& piece : batch.pieces) bases += piece.length;
    }
    CHECK(bases == (text[1] == 'A' ? 6 : text[0] == '@' ? length : length + 2));
  }
}
