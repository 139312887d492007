// BAM and CRAM: which records, in which orientation, and where files may end. The BAM here is written
// byte by byte.

#include <sys/stat.h>

#include <chrono>
#include <thread>

#include "unit/io/io_fixture.h"

using namespace io_test;

namespace {

struct Alignment {
  std::string name;
  std::string bases;
  std::string quality;  ///< Phred + 33; empty: none
  unsigned flag = 4;
};

std::string bam_record(const Alignment& alignment) {
  std::string body;
  body += little_endian(0xffffffff, 4) + little_endian(0xffffffff, 4);  // no reference, no position
  body += little_endian(alignment.name.size() + 1, 1) + little_endian(0, 1) + little_endian(4680, 2);
  body += little_endian(0, 2) + little_endian(alignment.flag, 2) + little_endian(alignment.bases.size(), 4);
  body += little_endian(0xffffffff, 4) + little_endian(0xffffffff, 4) + little_endian(0, 4);
  body += alignment.name + std::string(1, '\0');
  const std::string codes = "=ACMGRSVTWYHKDBN";
  for (std::size_t i = 0; i < alignment.bases.size(); i += 2) {
    std::size_t byte = codes.find(alignment.bases[i]) << 4;
    if (i + 1 < alignment.bases.size()) byte |= codes.find(alignment.bases[i + 1]);
    body += static_cast<char>(byte);
  }
  for (std::size_t i = 0; i < alignment.bases.size(); ++i) {
    body += alignment.quality.empty() ? '\xff' : static_cast<char>(alignment.quality[i] - '!');
  }
  return little_endian(body.size(), 4) + body;
}

std::string bam_text(const std::vector<Alignment>& alignments) {
  const std::string header = "@HD\tVN:1.6\n";
  std::string text =
      std::string("BAM\x01", 4) + little_endian(header.size(), 4) + header + little_endian(0, 4);
  for (const Alignment& alignment : alignments) text += bam_record(alignment);
  return text;
}

constexpr unsigned kUnmapped = 4, kReverse = 16, kSecondary = 256, kSupplementary = 2048;

const std::vector<Alignment> kAlignments = {
    {"plain", "ACGTN", "IIIII", kUnmapped},
    {"plain", "AAAAA", "IIIII", kSecondary},
    {"reverse", "AACGTMN", "!IIIIII", kReverse},
    {"reverse", "AAAAA", "IIIII", kSupplementary | kReverse},
    {"no-bases", "", "", kUnmapped},
    {"no-quality", "ACGT", "", 0},
    {"odd", "RYSWKVHDB", "IIIIIIIII", kReverse},
};
const Records kRecords = {{"plain", "ACGTN"},
                          {"reverse", "NKACGTT"},
                          {"no-bases", ""},
                          {"no-quality", "ACGT"},
                          {"odd", "VHDBMWSRY"}};

}  // namespace

TEST_CASE("io alignment: primary records, as they were sequenced") {
  const ScratchFolder folder;
  const std::string path = folder.write("reads", bgzf(bam_text(kAlignments)));
  for (const std::size_t batch_bytes : {std::size_t{1}, std::size_t{20}, std::size_t{1} << 20}) {
    for (const unsigned threads : {1U, 3U}) {
      io::InputOptions options;
      options.batch_bytes = batch_bytes;
      options.threads = threads;
      CHECK(read_all({path}, options) == kRecords);
    }
  }
  io::InputSet inputs({path}, {});
  io::Batch batch;
  REQUIRE(inputs.next(batch));
  REQUIRE(batch.pieces.size() == 5);
  CHECK(batch.pieces[1].record == 3);  // ordinals count every alignment
  CHECK_FALSE(inputs.next(batch));
  CHECK(inputs.progress().bytes_done == inputs.progress().bytes_total);
}

TEST_CASE("io alignment: qualities mask, turned with their bases") {
  const ScratchFolder folder;
  const std::string path = folder.write("reads", bgzf(bam_text(kAlignments)));
  io::InputOptions options;
  options.reading.min_base_quality = 20;
  Records expected = kRecords;
  expected[1].bases = "NKACGTN";
  CHECK(read_all({path}, options) == expected);
}

TEST_CASE("io alignment: BAM cut anywhere is an error") {
  const ScratchFolder folder;
  const std::string whole = bgzf(bam_text(kAlignments), 90);
  for (std::size_t size = whole.size() - 1; size > 30; size -= size > 300 ? 7 : 1) {
    CAPTURE(size);
    const std::string path = folder.write("cut", whole.substr(0, size));
    for (const unsigned threads : {1U, 3U}) {
      io::InputOptions options;
      options.threads = threads;
      CHECK(!input_error({path}, options).empty());
    }
  }
  const std::string no_end = bgzf_block(bam_text(kAlignments));
  CHECK(contains(input_error({folder.write("no-end", no_end)}), "marks its end is missing"));
}

TEST_CASE("io alignment: damaged BAM is an error") {
  const ScratchFolder folder;
  const std::string whole = bgzf(bam_text(kAlignments));
  for (std::size_t i = 20; i + 30 < whole.size(); i += 3) {
    CAPTURE(i);
    try {
      // Not every byte of a block's frame means something, but the reads are right.
      const Records read = read_all({folder.write("damaged", flipped(whole, i, 1 << (i % 8)))});
      CHECK(read == kRecords);
    } catch (const warpmer::InputError& error) {
      CHECK(std::string(error.what()).size() > 20);
    }
  }
  const std::string text = bam_text(kAlignments);
  constexpr std::size_t kFirst = 23;
  for (const auto& [at, wrong] : {std::pair{kFirst, "a record of impossible size"},
                                  {kFirst + 7, "a reference that there is not"},
                                  {kFirst + 12, "a name that does not end"},
                                  {kFirst + 21, "more bases than fit"}}) {
    const char* const what = wrong;
    CAPTURE(what);
    std::string damaged = text;
    damaged[at] = '\x05';
    CHECK(contains(input_error({folder.write("text", bgzf(damaged))}), "cannot be decoded"));
  }
}

TEST_CASE("io alignment: a record that is longer than may be is refused before there is room for it") {
  constexpr std::size_t kMost = std::size_t{1} << 20;
  const ScratchFolder folder;
  const auto read_of = [](std::size_t bases) {
    return Alignment{"long", std::string(bases, 'A'), std::string(bases, 'I')};
  };
  const auto sam_text = [&](const Alignment& read) {
    return "@HD\tVN:1.6\n" + read.name + "\t4\t*\t0\t0\t*\t*\t0\t0\t" + read.bases + "\t" + read.quality +
           "\n";
  };
  for (const unsigned threads : {1U, 3U}) {
    io::InputOptions options;
    options.threads = threads;
    options.longest_record_bytes = kMost;
    options.batch_bytes = kMost / 4;
    const auto refusal_of = [&](const std::string& bytes) {
      return refusal<warpmer::ResourceError>([&] { read_all({folder.write("in", bytes)}, options); });
    };
    for (const auto& text : {bgzf(bam_text({read_of(kMost / 2)})), sam_text(read_of(kMost / 2))})
      CHECK(refusal_of(text).empty());
    CHECK(contains(refusal_of(bgzf(bam_text({read_of(10), read_of(kMost)}))),
                   "record 2: it has 2 MiB, and -m allows 1 MiB for one"));
    CHECK(contains(refusal_of(sam_text(read_of(kMost))),
                   "record 1: it does not end within 1 MiB, which is as much as -m allows for one"));
    // There is no such record: code that made room for it would find that only then.
    CHECK(contains(refusal_of(bgzf(bam_text({}) + little_endian(0x3fffffff, 4))),
                   "it has 1024 MiB, and -m allows 1 MiB for one"));
    const std::string damaged = folder.write("in", bgzf(bam_text({}) + little_endian(0xfffffffb, 4)));
    CHECK(contains(input_error({damaged}, options), "as much as can be kept whole"));
  }
}

TEST_CASE("io alignment: BAM through a pipe") {
  const ScratchFolder folder;
  const std::string path = folder / "fifo";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  std::thread writer([&] { std::ofstream(path, std::ios::binary) << bgzf(bam_text(kAlignments)); });
  CHECK(read_all({path}) == kRecords);
  writer.join();
}

TEST_CASE("io alignment: a set may be dropped half read") {
  const ScratchFolder folder;
  std::vector<Alignment> many;
  many.reserve(30'000);
  for (int i = 0; i < 30'000; ++i) many.push_back({std::to_string(i), std::string(100, 'C'), "", 4});
  const std::string path = folder.write("many", bgzf(bam_text(many)));
  for (const unsigned threads : {1U, 3U}) {
    io::InputOptions options;
    options.threads = threads;
    options.batch_bytes = 1000;
    io::InputSet inputs({path}, options);
    io::Batch batch;
    CHECK(inputs.next(batch));
  }
  CHECK(read_all({path}).size() == 30'000);
}

TEST_CASE("io alignment: SAM text") {
  const ScratchFolder folder;
  const std::string sam =
      "@HD\tVN:1.6\n@SQ\tSN:c\tLN:1000\n"
      "a\t0\tc\t1\t60\t4M\t*\t0\t0\tACGG\tIII!\n"
      "a\t256\tc\t1\t60\t4M\t*\t0\t0\tACGG\tIIII\n"
      "b\t16\tc\t1\t60\t4M\t*\t0\t0\tACGG\t*\n";
  CHECK(read_all({folder.write("s", sam)}) == Records{{"a", "ACGG"}, {"b", "CCGT"}});
  // The end of a line may be that of other systems, and the last one may have none.
  CHECK(read_all({folder.write("s",
                               "@HD\tVN:1.6\r\na\t4\t*\t0\t0\t*\t*\t0\t0\tacg=\tIIII\tXX:Z:y\r\n"
                               "b\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*")}) == Records{{"a", "ACG="}, {"b", ""}});
  CHECK(read_all({folder.write("s", "@HD\tVN:1.6\n")}).empty());
}

TEST_CASE("io alignment: U in SAM is a T, also where records are kept") {
  const ScratchFolder folder;
  const std::string path = folder.write("s",
                                        "@HD\tVN:1.6\n"
                                        "a\t4\t*\t0\t0\t*\t*\t0\t0\tACGUurN.\tIIIIIIII\n"
                                        "b\t16\t*\t0\t0\t*\t*\t0\t0\tUUAA\t*\n");
  io::InputOptions options;
  const Records expected = {{"a", "ACGTTRNN"}, {"b", "TTAA"}};
  CHECK(read_all({path}, options) == expected);
  options.keep_alignments = io::ProgramLine{"program", "1", "program"};
  CHECK(read_all({path}, options) == expected);
  // A character that is no nucleotide code at all is not silently made N.
  for (const char bad : {'E', 'q', '-', '5'}) {
    CAPTURE(bad);
    const std::string line = std::string("c\t4\t*\t0\t0\t*\t*\t0\t0\tAC") + bad + "\tIII\n";
    const std::string bad_path = folder.write("bad", "@HD\tVN:1.6\n" + line);
    CHECK(contains(input_error({bad_path}, options), std::string("record 1: SAM: '") + bad + "' is no base"));
    CHECK(contains(input_error({bad_path}), "is no base; pass --lenient"));
    io::InputOptions lenient = options;
    lenient.reading.lenient = true;
    CHECK(read_all({bad_path}, lenient) == Records{{"c", "ACN"}});
  }
}

TEST_CASE("io alignment: '=' for the reference's base is named") {
  io::Batch batch;
  batch.file = "x.bam";
  batch.text.append("rAC=");
  io::Piece piece;
  piece.record = 1;
  piece.name_length = 1;
  piece.offset = 1;
  piece.length = 3;
  const std::string error = refusal<warpmer::InputError>([&] { io::throw_bad_base(batch, piece, 2); });
  CHECK(contains(error, "x.bam, record 1 ('r'): position 3 of the sequence is '='"));
  CHECK(contains(error, "samtools calmd"));
  CHECK_FALSE(contains(error, "--lenient"));
}

TEST_CASE("io alignment: SAM qualities mask, turned with their bases") {
  const ScratchFolder folder;
  io::InputOptions options;
  options.reading.min_base_quality = 20;
  const std::string start = "@HD\tVN:1.6\na\t16\tc\t1\t60\t4M\t*\t0\t0\tACGG\t";
  CHECK(read_all({folder.write("s", start + "!III\n")}, options) == Records{{"a", "CCGN"}});
  CHECK(read_all({folder.write("s", start + "*\n")}, options) == Records{{"a", "CCGT"}});
}

TEST_CASE("io alignment: SAM lines that are no records") {
  const ScratchFolder folder;
  const std::string good = "a\t4\t*\t0\t0\t*\t*\t0\t0\tACGG\tIIII\n";
  for (const auto& [line, wanted] :
       {std::pair{"c\t0\tc\n", "a line of 3 columns"},
        {"\n", "a line of 1 columns"},
        {"c\tx\t*\t0\t0\t*\t*\t0\t0\tA\tI\n", "'x', is no flag"},
        {"c\t70000\t*\t0\t0\t*\t*\t0\t0\tA\tI\n", "'70000', is no flag"},
        {"c\t4\t*\t0\t0\t*\t*\t0\t0\tA1\tII\n", "'1' is no base"},
        {"c\t4\t*\t0\t0\t*\t*\t0\t0\tACG\tII\n", "3 bases, but 2 quality values"},
        {"c\t4\t*\t0\t0\t*\t*\t0\t0\tAC\tI \n", "' ' is no quality"}}) {
    const char* const what = wanted;
    CAPTURE(what);
    const std::string error = input_error({folder.write("s", "@HD\tVN:1.6\n" + good + line)});
    CAPTURE(error);
    CHECK(contains(error, what));
    CHECK(contains(error, "record 2"));
  }
  const std::string name(300, 'n');  // of 254 at most
  CHECK(contains(input_error({folder.write("s", "@HD\tVN:1.6\n" + name + good)}), "cannot be decoded"));
}

TEST_CASE("io alignment: headers of SAM and BAM are passed over") {
  const ScratchFolder folder;
  std::string text = "@HD\tVN:1.6\n", references;
  constexpr std::size_t kCount = 50'000;  // some megabytes, in many blocks and reads
  for (std::size_t i = 0; i < kCount; ++i) {
    const std::string name = "contig_" + std::to_string(i);
    text += "@SQ\tSN:" + name + "\tLN:" + std::to_string(i + 1) + "\n";
    references += little_endian(name.size() + 1, 4) + name + std::string(1, '\0') + little_endian(i + 1, 4);
  }
  std::string bam =
      std::string("BAM\x01", 4) + little_endian(text.size(), 4) + text + little_endian(kCount, 4);
  bam += references + bam_record(kAlignments[0]);
  CHECK(read_all({folder.write("bam", bgzf(bam))}) == Records{kRecords[0]});
  CHECK(read_all({folder.write("sam", text + "a\t4\t*\t0\t0\t*\t*\t0\t0\tACGG\tIIII\n")}) ==
        Records{{"a", "ACGG"}});
}

TEST_CASE("io alignment: damage in a pipe that stays open is said without waiting for more") {
  const std::string text = bam_text(kAlignments);
  for (const unsigned threads : {1U, 3U}) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    std::string data = bgzf(text) + bgzf(text).substr(0, 40) + std::string(2000, 'x');
    REQUIRE(::write(ends[1], data.data(), data.size()) == static_cast<ssize_t>(data.size()));
    io::InputOptions options;
    options.threads = threads;
    CHECK(!input_error({"/dev/fd/" + std::to_string(ends[0])}, options).empty());
    ::close(ends[0]);
    ::close(ends[1]);
  }
}

TEST_CASE("io alignment: cancel ends a wait for a silent pipe") {
  const std::string start = bgzf(bam_text(kAlignments));
  for (const unsigned threads : {1U, 3U}) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    REQUIRE(::write(ends[1], start.data(), start.size()) == static_cast<ssize_t>(start.size()));
    io::InputOptions options;
    options.threads = threads;
    options.batch_bytes = 1;
    io::InputSet inputs({"/dev/fd/" + std::to_string(ends[0])}, options);
    std::thread canceller([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      inputs.cancel();
    });
    io::Batch batch;
    while (inputs.next(batch)) {
    }
    CHECK_FALSE(inputs.next(batch));
    canceller.join();
    ::close(ends[0]);
    ::close(ends[1]);
  }
}
