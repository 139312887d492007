// FASTA handed over as text: what devices make of it is what the host reads, and chunks of any size hold
// every k-mer once.

#include <algorithm>
#include <optional>

#include "io/fastx/fasta_chunk.h"
#include "io/fastx/fasta_text.h"
#include "random_fasta.h"
#include "tier.h"
#include "unit/io/io_fixture.h"

using namespace io_test;
using warpmer::tests::fasta;
using warpmer::tests::Fasta;
using warpmer::tests::FastaShape;

namespace tests = warpmer::tests;

namespace {

/// The result of a device for a text.
struct Joined {
  std::string text;  ///< for each header a line end, and all characters of sequences
  std::size_t records = 0;
  std::size_t bases = 0;
  bool is_odd = false;
};

/// Returns the characters from `at` on of a text of `bytes` characters, looked at one by one.
io::FastaCharacters fasta_characters(const char* text, std::uint32_t at, std::uint32_t bytes) {
  io::FastaCharacters characters;
  for (std::uint32_t i = 0; i < io::FastaCharacters::kCount && at + i < bytes; ++i) {
    const auto bit_if = [&](char c) { return text[at + i] == c ? 1u << i : 0u; };
    characters.all |= 1u << i;
    characters.line_feeds |= bit_if('\n');
    characters.returns |= bit_if('\r');
    characters.headers |= bit_if('>');
    characters.ats |= bit_if('@');
    const bool is_blank = static_cast<unsigned char>(text[at + i]) <= ' ';
    if (is_blank && text[at + i] != '\n' && text[at + i] != '\r') characters.blanks |= 1u << i;
  }
  characters.follows_line_feed = at > 0 && text[at - 1] == '\n';
  const std::uint32_t behind = at + io::FastaCharacters::kCount;
  characters.precedes_line_feed = behind < bytes && text[behind] == '\n';
  return characters;
}

Joined join(std::string_view text) {
  Joined joined;
  const auto bytes = static_cast<std::uint32_t>(text.size());
  io::FastaStretch before{};
  for (std::uint32_t at = 0; at < bytes; at += io::FastaCharacters::kCount) {
    const io::FastaCharacters characters = fasta_characters(text.data(), at, bytes);
    const std::uint32_t kept = characters.joined(before.ends_in_header());
    for (std::uint32_t i = 0; i < io::FastaCharacters::kCount; ++i) {
      if ((kept >> i & 1) == 0) continue;
      const bool is_header = (characters.header_begins() >> i & 1) != 0;
      joined.text += is_header ? '\n' : text[at + i];
      ++(is_header ? joined.records : joined.bases);
    }
    joined.is_odd |= characters.are_odd(before.ends_in_header());
    before = before + io::stretch_of(characters);
    REQUIRE(before.joined() == joined.text.size());
  }
  return joined;
}

/// Returns the text that the device must make of a file with such sequences.
std::string joined_of(const std::vector<std::string>& sequences) {
  std::string joined;
  for (const std::string& sequence : sequences) joined += '\n' + sequence;
  return joined;
}

/// All stretches of k characters without a line end among them, in order.
std::vector<std::string> kmers_of(const std::vector<std::string>& texts, std::size_t k) {
  std::vector<std::string> kmers;
  for (const std::string& text : texts) {
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      for (std::size_t at = begin; at + k <= end; ++at) kmers.push_back(text.substr(at, k));
      begin = end + 1;
    }
  }
  std::sort(kmers.begin(), kmers.end());
  return kmers;
}

/// The results of all chunks together.
struct Sum {
  std::vector<std::string> joined;
  std::size_t records = 0, bases = 0;
  bool is_odd = false;

  void add(std::string_view text, std::size_t overlap) {
    const Joined part = join(text);
    is_odd |= part.is_odd;
    joined.push_back(part.text);
    records += part.records;
    bases += part.bases - overlap;
  }
};

void check_sum(const Sum& sum, const std::vector<std::string>& sequences, std::size_t k) {
  CHECK_FALSE(sum.is_odd);
  CHECK(sum.records == sequences.size());
  std::size_t bases = 0;
  for (const std::string& sequence : sequences) bases += sequence.size();
  CHECK(sum.bases == bases);
  CHECK((kmers_of(sum.joined, k) == kmers_of(sequences, k)));
}

/// Cuts a file at the given places, with such sight; nothing when that does not do.
std::optional<Sum> cut(const std::string& file, const std::vector<std::size_t>& places, std::size_t before,
                       std::size_t behind, std::uint32_t k) {
  const std::string text = '\n' + file;
  const char* const begin = text.data() + 1;
  const auto border_at = [&](std::size_t place) {
    return io::ChunkBorder{place < before ? begin - 1 : begin + place - std::min(place, before),
                           begin + place, begin + std::min(place + behind, file.size()),
                           place + behind >= file.size()};
  };
  Sum sum;
  const char* first = io::fasta_chunk_begin(border_at(0));
  for (std::size_t i = 0; i <= places.size(); ++i) {
    const bool is_last = i == places.size();
    const io::ChunkBorder border = border_at(is_last ? file.size() : places[i]);
    const char* const last = is_last ? border.at : io::fasta_chunk_begin(border);
    if (last == nullptr || last < first || !io::is_sequence_at(border, first)) return std::nullopt;
    const auto overlap = io::fasta_overlap(border, last, k - 1);
    if (!overlap) return std::nullopt;
    CHECK(overlap->characters < k);
    std::string part(first, overlap->end);
    if (overlap->end == begin + file.size()) part += '\n';
    sum.add(part, overlap->characters);
    first = last;
  }
  return sum;
}

FastaShape random_shape(unsigned seed) {
  std::mt19937 random(seed);
  FastaShape shape;
  shape.longest_sequence = std::size_t{1} << random() % 12;
  shape.longest_line = std::size_t{1} << random() % 12;
  if (random() % 3 == 0) shape.line_end = "\r\n";
  if (random() % 3 == 0) shape.blank_lines = static_cast<unsigned>(1 + random() % 10);
  return shape;
}

/// Small batches, so that small files are large.
io::InputOptions options_for(std::uint32_t k, unsigned threads) {
  io::InputOptions options;
  options.overlap_bases = k - 1;
  options.batch_bytes = 16384;
  options.threads = threads;
  return options;
}

struct Reading {
  Sum sum;
  std::size_t texts = 0, pieces = 0;
  std::uint64_t bytes = 0;
  bool refused = false;
};

void read_to_end(io::InputSet& inputs, unsigned threads, Reading& reading) {
  reading.refused |= read_as_text(inputs, threads, [&](const io::Batch& batch) {
    reading.bytes += batch.input_bytes;
    reading.pieces += batch.pieces.size();
    if (!batch.is_raw_text()) return;
    ++reading.texts;
    CHECK(batch.raw_format == io::RawFormat::fasta);
    reading.sum.add(batch.raw_text(), batch.raw_overlap);
  });
}

Reading read_file(const std::string& path, const io::InputOptions& options) {
  Reading reading;
  io::InputSet inputs({path}, options);
  read_to_end(inputs, options.threads, reading);
  return reading;
}

}  // namespace

TEST_CASE("FASTA text: devices join what the host reads, or call it odd") {
  const ScratchFolder folder;
  const unsigned cases = tests::by_tier(1500u, 300u);
  unsigned odd = 0;
  for (unsigned seed = 0; seed < cases; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const std::string alphabet = seed % 3 == 0   ? "ACGTACGTACGTACGTAAAA\n>\r"
                                 : seed % 3 == 1 ? "AC\n\n>>\r"
                                                 : "ACACACACAC\n\n>> \r\t";
    std::string text = ">";
    for (std::size_t n = random() % 300; text.size() < n;) {
      const char next = alphabet[random() % alphabet.size()];
      // Seldom in the middle of a line, where it is an error unless that is a header.
      if (next == '>' && random() % 30 > 0) text += '\n';
      text += next;
      if (text.back() == '\r' && random() % 20 > 0) text += '\n';
    }
    if (seed % 7 == 0) text.insert(random() % (text.size() + 1), "\n@");
    if (seed % 11 == 0) text.insert(random() % (text.size() + 1), "@");
    CAPTURE(text);
    const Joined joined = join('\n' + text + (text.back() == '\n' ? "" : "\n"));
    const bool has_fastq = text[0] == '@' || text.find("\n@") != std::string::npos;
    const std::string path = folder.write("a.fa", text);
    if (has_fastq) {
      CHECK(joined.is_odd);
    } else if (!input_error({path}).empty()) {
      CHECK(joined.is_odd);
    } else {
      std::vector<std::string> sequences;
      for (const Record& record : read_all({path})) sequences.push_back(record.bases);
      CHECK(text[0] == '>');
      if (joined.is_odd) {
        CHECK(text.find_first_of(" \t\r") != std::string::npos);  // which the host leaves out
      } else {
        CHECK(joined.text == joined_of(sequences));
        CHECK(joined.records == sequences.size());
      }
    }
    odd += joined.is_odd ? 1 : 0;
  }
  CHECK(odd > cases / 5);
  CHECK(odd < cases - cases / 5);
}

TEST_CASE("FASTA text: stretches can be put together in any grouping") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    std::string text;
    for (std::size_t n = 1 + random() % 2000; text.size() < n;) text += "ACGTACGT\n\n>\r"[random() % 12];
    std::vector<io::FastaStretch> stretches;
    for (std::uint32_t at = 0; at < text.size(); at += io::FastaCharacters::kCount) {
      stretches.push_back(
          io::stretch_of(fasta_characters(text.data(), at, static_cast<std::uint32_t>(text.size()))));
    }
    io::FastaStretch all{};
    for (const io::FastaStretch& stretch : stretches) all = all + stretch;
    while (stretches.size() > 1) {
      const auto i = static_cast<std::ptrdiff_t>(random() % (stretches.size() - 1));
      stretches[static_cast<std::size_t>(i)] =
          stretches[static_cast<std::size_t>(i)] + stretches[static_cast<std::size_t>(i) + 1];
      stretches.erase(stretches.begin() + i + 1);
    }
    CHECK(stretches[0].open == all.open);
    CHECK(stretches[0].rest == all.rest);
    CHECK(stretches[0].line == all.line);
    const io::FastaStretch nothing{};
    CHECK((nothing + all).joined() == all.joined());
    CHECK((all + nothing).line == all.line);
  }
}

TEST_CASE("FASTA chunks: every k-mer is in one of them, wherever they are cut") {
  for (unsigned seed = 0; seed < tests::by_tier(300u, 60u); ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const Fasta file = fasta(200 + random() % 3000, seed, random_shape(seed));
    const std::uint32_t k = 1 + random() % 64;
    const std::string text =
        seed % 2 == 0 ? file.text : file.text.substr(0, file.text.find_last_not_of("\r\n") + 1);
    // Anywhere, two at one place too; then at every character.
    std::vector<std::size_t> places;
    const std::size_t wanted = 1 + random() % 20;
    while (places.size() < wanted) places.push_back(1 + random() % (text.size() - 1));
    std::sort(places.begin(), places.end());
    if (seed % 10 == 0) {
      places.clear();
      for (std::size_t at = 1; at < std::min<std::size_t>(text.size(), 600); ++at) places.push_back(at);
    }
    const auto sum = cut(text, places, 100, text.size(), k);
    // With headers in sight there is no reason to refuse.
    REQUIRE(sum.has_value());
    check_sum(*sum, file.sequences, k);
  }
}

TEST_CASE("FASTA chunks: what cannot be seen is refused, and nothing is lost") {
  const unsigned cases = tests::by_tier(600u, 120u);
  unsigned refused = 0, done = 0;
  for (unsigned seed = 0; seed < cases; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    FastaShape shape = random_shape(seed);
    shape.longest_header = 1 + random() % 100;
    const Fasta file = fasta(200 + random() % 2000, seed, shape);
    const std::uint32_t k = 1 + random() % 64;
    std::vector<std::size_t> places = {1 + random() % (file.text.size() - 1)};
    if (seed % 2 == 0) places.push_back(1 + random() % (file.text.size() - 1));
    std::sort(places.begin(), places.end());
    const auto sum = cut(file.text, places, 1 + random() % 40, 1 + random() % 200, k);
    ++(sum ? done : refused);
    if (sum) check_sum(*sum, file.sequences, k);
  }
  CHECK(refused > cases / 4);
  CHECK(done > cases / 4);
}

TEST_CASE("FASTA chunks: carriage returns at the border") {
  // Bases, and a "\r" on its own, which the device has to see.
  for (const std::string text : {">a\nACGT\r\nACGT\r\n", ">a\nACGT\rACGT\r\n\r\n", ">a\r\nAC\r\n>b\r\nGT\r",
                                 ">a\nAC\r\r\nGT\n", ">a\nACGTACGT\r"}) {
    CAPTURE(text);
    const Joined whole = join('\n' + text + '\n');
    for (const std::uint32_t k : {1u, 2u, 3u, 8u}) {
      for (std::size_t place = 1; place < text.size(); ++place) {
        const auto sum = cut(text, {place}, 100, 100, k);
        REQUIRE(sum.has_value());
        CHECK(sum->is_odd == whole.is_odd);
        CHECK(sum->bases == whole.bases);
        CHECK(sum->records == whole.records);
      }
    }
  }
}

TEST_CASE("FASTA text: large files are handed over by any number of threads") {
  const ScratchFolder folder;
  for (unsigned seed = 0; seed < tests::by_tier(24u, 8u); ++seed) {
    CAPTURE(seed);
    FastaShape shape = random_shape(seed);
    if (seed % 4 == 0) shape.longest_sequence = shape.longest_line = 90'000;  // lines longer than chunks
    const Fasta file = fasta(100'000 + 1000 * seed, seed, shape);
    const std::string text =
        seed % 2 == 0 ? file.text : file.text.substr(0, file.text.find_last_not_of("\r\n") + 1);
    const std::uint32_t k = std::vector{1u, 5u, 15u, 31u, 32u, 64u}[seed % 6];
    const Reading reading = read_file(folder.write("a.fa", text), options_for(k, 1 + 3 * (seed % 2)));
    CHECK_FALSE(reading.refused);
    CHECK(reading.pieces == 0);
    CHECK(reading.texts > 4);
    CHECK(reading.bytes == text.size());
    check_sum(reading.sum, file.sequences, k);
  }
}

TEST_CASE("FASTA text: processes that read parts of a file hand every k-mer over once") {
  const ScratchFolder folder;
  FastaShape shape = random_shape(1);
  shape.longest_sequence = 90'000;  // in several parts
  const Fasta file = fasta(200'000, 1, shape);
  const auto files = io::list_inputs({folder.write("a.fa", file.text)});
  for (const std::uint32_t parts : {2u, 7u, 40u}) {
    CAPTURE(parts);
    io::InputShares shares{files, {}};
    for (std::uint32_t part = 0; part < parts; ++part) shares.shares.push_back({0, part % 2, part, parts});
    Reading reading;
    for (const std::uint32_t owner : {1u, 0u}) {
      io::InputSet inputs(shares, owner, options_for(31, 2));
      read_to_end(inputs, 2, reading);
    }
    CHECK_FALSE(reading.refused);
    CHECK(reading.pieces == 0);
    CHECK(reading.bytes == file.text.size());
    check_sum(reading.sum, file.sequences, 31);
  }
}

TEST_CASE("FASTA text: headers and blank lines without end are refused, small files come as pieces") {
  const ScratchFolder folder;
  const std::string record = ">a\n" + std::string(60'000, 'A') + "\n";
  const io::InputOptions options = options_for(31, 2);
  const std::string header = '>' + std::string(40'000, 'x') + "\nACGT\n";
  CHECK(read_file(folder.write("header.fa", record + header + record), options).refused);
  CHECK(read_file(folder.write("blank.fa", record + std::string(40'000, '\n') + record), options).refused);
  // FASTQ at a border.
  const std::string quality(30'000, 'I'), bases(30'000, 'A');
  CHECK(read_file(folder.write("fastq.fa", record + "@" + quality + "\n" + bases + "\n+\n" + quality + "\n"),
                  options)
            .refused);
  const Reading small = read_file(folder.write("small.fa", ">a\nACGT\n"), options);
  CHECK(small.texts == 0);
  CHECK(small.pieces == 1);
}
