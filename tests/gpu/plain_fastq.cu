// FASTQ text on the device: the sequences of plain records, and what is none.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "kernels/text/cut.cuh"
#include "kernels/text/plain_fastq.cuh"
#include "kernels/text/text_packing.cuh"
#include "random_fastq.h"

namespace {

using namespace warpmer;
using namespace warpmer::gpu;

struct FoundRecords {
  TextFindings findings;
  std::vector<std::string> sequences;  ///< that are not empty

  [[nodiscard]] bool is_plain() const { return findings.odd == 0; }
};

FoundRecords find_records(PlainFastq& records, const std::string& text, char lowest_quality = 0) {
  const Stream stream;
  const auto bytes = static_cast<std::uint32_t>(text.size());
  DeviceArray<char> device(text_room(bytes)), joined(text_room(PlainFastq::joined_bytes(bytes)));
  copy_to_device(device.data(), text.data(), bytes, stream);
  fill_bytes(joined.data(), 0, joined.size(), stream);
  records.reserve(bytes);
  records.find(device.data(), bytes, lowest_quality, joined.data(), stream);
  std::string host(PlainFastq::joined_bytes(bytes), ' ');
  FoundRecords found{};
  copy_to_host(host.data(), joined.data(), host.size(), stream);
  copy_to_host(&found.findings, records.findings(), 1, stream);
  stream.wait();
  std::string sequence;
  for (const char c : host) {
    if (c != kSeparator) {
      sequence += c;
    } else if (!sequence.empty()) {
      found.sequences.push_back(std::move(sequence));
      sequence.clear();
    }
  }
  if (found.is_plain()) CHECK(sequence.empty());
  return found;
}

FoundRecords find_records(const std::string& text, char lowest_quality = 0) {
  PlainFastq records;
  return find_records(records, text, lowest_quality);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace

TEST_CASE("FASTQ on the device: sequences of plain records") {
  PlainFastq records;
  for (unsigned seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    // Of a few bytes to some tiles; reads of all lengths.
    const std::string text =
        tests::fastq(std::size_t{20} << (seed % 18), seed, seed % 5 == 0 ? 20'000 : 1 + 30 * seed);
    const std::vector<std::string> lines = lines_of(text);
    for (const char lowest : {'\0', 'B'}) {
      std::vector<std::string> expected;
      std::size_t bases = 0;
      for (std::size_t i = 0; i < lines.size(); i += 4) {
        expected.push_back(lines[i + 1]);
        bases += lines[i + 1].size();
        for (std::size_t j = 0; j < lines[i + 1].size(); ++j) {
          if (lines[i + 3][j] < lowest) expected.back()[j] = 'N';
        }
      }
      const FoundRecords found = find_records(records, text, lowest);
      CHECK(found.is_plain());
      CHECK(found.findings.records == lines.size() / 4);
      CHECK(found.findings.bases == bases);
      CHECK((found.sequences == expected));
    }
  }
}

TEST_CASE("FASTQ on the device: empty sequences, shortest records") {
  // With headers long enough for lines to have room.
  const std::string header(40, 'r');
  std::string text = "@" + header + "\n\n+\n\n";
  for (int i = 0; i < 500; ++i) text += "@" + header + "\nA\n+\nI\n" + "@empty" + header + "\n\n+\n\n";
  const FoundRecords found = find_records(text);
  CHECK(found.is_plain());
  CHECK(found.findings.bases == 500);
  CHECK((found.sequences == std::vector<std::string>(500, "A")));
}

TEST_CASE("FASTQ on the device: what is not plain is noticed, wherever it is") {
  const std::string before = tests::fastq(30'000, 1), after = tests::fastq(30'000, 2);
  const std::vector<std::string> odd = {"@r\nACGT\nACGT\n+\nIIIIIIII\n",    // two lines of bases
                                        "@r\nACGT\nACGT\n+\nIIII\nIIII\n",  // and of qualities
                                        "\n",                               // a blank line
                                        "\n\n\n\n",                         // four of them
                                        "@r\nACGT\n+\nIII\n",               // too few qualities
                                        "@r\nACGT\n+\nIIIII\n",             // too many
                                        "@r\nACGT\n\nIIII\n",               // no '+'
                                        "r\nACGT\n+\nIIII\n",               // no '@'
                                        "@r\n@CGT\n+\nIIII\n",          // headers where sequences should be
                                        "@r\n>CGT\n+\nIIII\n",          //
                                        "@r\n+CGT\n+\nIIII\n",          //
                                        "@r\r\nACGT\r\n+\r\nIIII\r\n",  // line ends of another system
                                        "@r x\ry\nACGT\n+\nIIII\n",     // or of an old one
                                        "@r\nACGT \n+\nIIII \n",        // blanks
                                        "@r\nACGT \n+\nIIIII\n",        //
                                        "@r\nAC\tT\n+\nIIII\n",         //
                                        "@r\nACGT\n+\nII I\n",          // no quality characters
                                        "@r\nACGT\n+\nII\x7FI\n",       //
                                        "@r\nACGT\n+\nII\xC3I\n",       //
                                        "@r\nACGT\n",                   // half a record
                                        ">r\nACGT\n",                   // FASTA
                                        ">r\nACGT\n>s\nACGT\n"};
  for (const std::string& record : odd) {
    CAPTURE(record);
    CHECK_FALSE(find_records(record).is_plain());
    CHECK_FALSE(find_records(before + record).is_plain());
    CHECK_FALSE(find_records(record + after).is_plain());
    CHECK_FALSE(find_records(before + record + after).is_plain());
  }
  CHECK(find_records(before + after).is_plain());
  // The text of the '+' line does not matter.
  CHECK(find_records(before + "@r\nACGT\n+another\nIIII\n" + after).is_plain());
}

TEST_CASE("FASTQ on the device: more lines than there is room for") {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "@\nA\n+\nI\n";  // 2 bytes a line
  CHECK_FALSE(find_records(text).is_plain());
  CHECK_FALSE(find_records(std::string(100'000, '\n')).is_plain());
}
