// FASTA text on the device: the sequences of plain records, and what is none. Each character's part is
// checked on the CPU (tests/unit/io/plain_fasta.cpp); here it is that threads and tiles fit together.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "kernels/text/cut.cuh"
#include "kernels/text/plain_fasta.cuh"
#include "kernels/text/text_packing.cuh"
#include "random_fasta.h"

namespace {

using namespace warpmer;
using namespace warpmer::gpu;

struct Found {
  TextFindings findings;
  std::string joined;
};

/// `text` begins within a sequence line.
Found find(PlainFasta& sequences, const std::string& text) {
  const Stream stream;
  const auto bytes = static_cast<std::uint32_t>(text.size());
  DeviceArray<char> device(text_room(bytes)), joined(text_room(PlainFasta::joined_bytes(bytes)));
  copy_to_device(device.data(), text.data(), bytes, stream);
  fill_bytes(joined.data(), 0, joined.size(), stream);
  sequences.reserve(bytes);
  sequences.find(device.data(), bytes, joined.data(), stream);
  Found found{};
  found.joined.resize(PlainFasta::joined_bytes(bytes));
  copy_to_host(found.joined.data(), joined.data(), found.joined.size(), stream);
  copy_to_host(&found.findings, sequences.findings(), 1, stream);
  stream.wait();
  return found;
}

Found find(const std::string& text) {
  PlainFasta sequences;
  return find(sequences, text);
}

/// A separator for each header, the sequences, and separators behind.
void check(const Found& found, const std::vector<std::string>& sequences, std::size_t text_bytes) {
  std::string expected;
  std::size_t bases = 0;
  for (const std::string& sequence : sequences) {
    expected += kSeparator + sequence;
    bases += sequence.size();
  }
  expected.resize(text_bytes, kSeparator);
  CHECK(found.findings.odd == 0);
  CHECK(found.findings.records == sequences.size());
  CHECK(found.findings.bases == bases);
  CHECK((found.joined == expected));
}

}  // namespace

TEST_CASE("FASTA on the device: sequences of plain records") {
  PlainFasta sequences;
  for (unsigned seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    tests::FastaShape shape;
    shape.longest_sequence = std::size_t{2} << (seed % 16);
    shape.longest_line = std::size_t{1} << (seed % 13);
    shape.longest_header = seed % 5 == 0 ? 20'000 : 1 + seed;  // longer than a tile
    if (seed % 3 == 1) shape.line_end = "\r\n";
    if (seed % 4 == 2) shape.blank_lines = 1 + seed / 4;
    // Of a few bytes to some tiles.
    const tests::Fasta file = tests::fasta(std::size_t{20} << (seed % 15), seed, shape);
    const std::string text = '\n' + file.text;
    check(find(sequences, text), file.sequences, text.size());
  }
}

TEST_CASE("FASTA on the device: more tiles than are scanned at once") {
  tests::FastaShape shape;
  shape.longest_sequence = 100'000;
  const tests::Fasta file = tests::fasta(9'000'000, 1, shape);
  const std::string text = '\n' + file.text;
  check(find(text), file.sequences, text.size());
}

TEST_CASE("FASTA on the device: no line at all, only headers, ends anywhere") {
  const std::string bases(10'000, 'A');
  for (const std::size_t length : {1u, 15u, 16u, 17u, 4095u, 4096u, 4097u, 10'000u}) {
    CAPTURE(length);
    const std::string text = bases.substr(0, length);
    const Found found = find(text);
    CHECK(found.findings.odd == 0);
    CHECK(found.findings.records == 0);
    CHECK(found.findings.bases == length);
    CHECK((found.joined == text));
    check(find("\n>" + text), {""}, length + 2);
    check(find("\n>a\n" + text), {text}, length + 4);
    check(find("\r\n>a\r\n" + text + "\r\n"), {text}, length + 8);
    check(find(std::string(length, '\n')), {}, length);
  }
}

TEST_CASE("FASTA on the device: what is not plain is noticed, wherever it is") {
  const std::string before = tests::fasta(30'000, 1).text, after = tests::fasta(30'000, 2).text;
  for (const std::string odd :
       {"@r\nACGT\n+\nIIII\n", ">a\rb\nACGT\n", ">a\r\r\nACGT\n", "\n@", ">a\nAC\rGT\n", ">a\nAC GT\n",
        ">a\n\tACGT\n", ">a\nACGT \n", ">a\nAC>GT\n", ">a\nACGT@\n"}) {
    CAPTURE(odd);
    CHECK(find('\n' + odd).findings.odd > 0);
    CHECK(find('\n' + before + odd).findings.odd > 0);
    CHECK(find('\n' + odd + after).findings.odd > 0);
    CHECK(find('\n' + before + odd + after).findings.odd > 0);
  }
  // Characters that do not belong into sequences are left in place, for the cut to find.
  for (const std::string other : {";comment\n", "AC-GT.*\n", "!?\n"}) {
    CAPTURE(other);
    const Found found = find('\n' + before + other + after);
    CHECK(found.findings.odd == 0);
    CHECK(found.joined.find(other.substr(0, other.size() - 1)) != std::string::npos);
  }
}
