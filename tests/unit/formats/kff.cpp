// KFF files: what is written, decoded by the format's definition; the specification's example and other bytes
// made by hand, read; damage. ctest: one thread

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "formats/kff_file.h"
#include "random_text.h"
#include "tier.h"
#include "unit/formats/counted_kmers.h"

using namespace warpmer;
using namespace warpmer::formats;
using namespace warpmer::formats::test;

namespace {

std::string number(std::uint64_t value, unsigned bytes = 8) {
  std::string text;
  for (unsigned i = bytes; i-- > 0;) text += static_cast<char>(value >> (8 * i));
  return text;
}

using Variables = std::vector<std::pair<std::string, std::uint64_t>>;

std::string variables(const Variables& all) {
  std::string section = "v" + number(all.size());
  for (const auto& [name, value] : all) section += name + '\0' + number(value);
  return section;
}

/// A header with its `KFF`s around some sections. The text for people looks like sections.
std::string file_of(const std::string& sections, bool is_canonical = false, int encoding = 0x1B) {
  return std::string("KFF\1\0", 5) + static_cast<char>(encoding) + '\1' + (is_canonical ? '\1' : '\0') +
         number(4, 4) + "vKFF" + sections + "KFF";
}

/// Two bits a base, as many bytes as needed, what is left in front filled with ones.
std::string packed(const std::string& bases, const std::string& codes = "ACGT") {
  std::string bytes;
  std::string padded = std::string((4 - bases.size() % 4) % 4, codes[3]) + bases;
  for (std::size_t i = 0; i < padded.size(); i += 4) {
    unsigned byte = 0;
    for (std::size_t j = 0; j < 4; ++j) byte = byte << 2 | static_cast<unsigned>(codes.find(padded[i + j]));
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

Kmers kmers_of(const std::vector<std::pair<std::string, std::uint64_t>>& all) {
  Kmers kmers;
  for (const auto& [text, count] : all) kmers.push_back({kmer_of(text), count});
  return kmers;
}

/// The example of the specification, k = 10, with A C G T = 0 2 3 1, once as r and once as m.
const std::string kExampleVariables = variables({{"k", 10}, {"max", 255}, {"data_size", 1}});
const std::string kExampleRaw = "r" + number(3) +
                                std::string(
                                    "\x03\x24\x09\xC5\x20\x2F\x01"
                                    "\x01\x00\x27\x1B\x0C"
                                    "\x02\x24\x09\xC5\x01\x2F",
                                    18);
const std::string kExampleMinimizer = "m" + std::string("\x02\x71", 2) + number(3) +
                                      std::string(
                                          "\x03\x00\x03\x25\x20\x2F\x01"
                                          "\x01\x00\x00\x0B\x0C"
                                          "\x02\x00\x02\x25\x01\x2F",
                                          18);
const Kmers kExampleKmers = kmers_of({{"ACTAAACTGA", 32},
                                      {"CTAAACTGAT", 47},
                                      {"TAAACTGATT", 1},
                                      {"AAACTGATCG", 12},
                                      {"CTAAACTGAT", 1},
                                      {"TAAACTGATT", 47}});
constexpr int kExampleEncoding = 0x2D;

std::string example_file() {
  const std::string m = variables({{"m", 8}});
  return file_of(kExampleVariables + kExampleRaw + m + kExampleMinimizer, false, kExampleEncoding);
}

/// A file that a sink has written, taken apart section by section.
class Decoder {
 public:
  explicit Decoder(std::string bytes) : bytes_(std::move(bytes)) {
    REQUIRE(bytes_.starts_with(std::string("KFF\1\0\x1B\1", 7)));
    REQUIRE(bytes_.ends_with("KFF"));
    is_canonical = bytes_[7] == 1;
    REQUIRE(take(8, 4) == 0);
    while (at_ < bytes_.size() - 3) section();
  }

  bool is_canonical = false;
  std::map<std::string, std::uint64_t> values;
  Kmers kmers;
  std::size_t raw_sections = 0;

 private:
  std::uint64_t take(std::size_t at, std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | static_cast<std::uint8_t>(bytes_.at(at + i));
    at_ = at + bytes;
    return value;
  }

  void section() {
    const std::size_t begin = at_;
    const char letter = bytes_[at_++];
    letters_[begin] = letter;
    const std::uint64_t entries = take(at_, 8);
    if (letter == 'v') {
      for (std::uint64_t i = 0; i < entries; ++i) {
        const std::string name = bytes_.c_str() + at_;
        values[name] = take(at_ + name.size() + 1, 8);
      }
      if (values.contains("footer_size")) {
        CHECK(values["footer_size"] == at_ - begin);
        CHECK(at_ == bytes_.size() - 3);
        CHECK(index_.at(begin) == 'v');
      }
    } else if (letter == 'r') {
      ++raw_sections;
      blocks(entries);
    } else {
      REQUIRE(letter == 'i');
      index_at_ = begin;
      index(entries);
    }
    if (values.contains("first_index")) CHECK(values["first_index"] == index_at_);
  }

  void blocks(std::uint64_t n) {
    REQUIRE(values["max"] == 1);
    for (; n > 0; --n) {
      Key128 kmer = 0;
      const std::uint64_t bytes = (values["k"] + 3) / 4;
      for (std::uint64_t i = 0; i < bytes; ++i) kmer = kmer << 8 | static_cast<std::uint8_t>(bytes_[at_ + i]);
      kmers.push_back({kmer, take(at_ + bytes, values["data_size"])});
    }
  }

  /// All sections before it, and the one behind it, have an entry with their letter.
  void index(std::uint64_t entries) {
    const std::size_t end = at_ + 9 * entries + 8;
    for (; entries > 0; --entries) {
      const char letter = bytes_[at_];
      index_[end + take(at_ + 1, 8)] = letter;
    }
    CHECK(take(at_, 8) == 0);
    letters_.erase(index_at_);
    for (const auto& [at, letter] : letters_) CHECK(index_.at(at) == letter);
    CHECK(index_.size() == letters_.size() + 1);
  }

  std::string bytes_;
  std::size_t at_ = 0;
  std::size_t index_at_ = 0;
  std::map<std::uint64_t, char> letters_, index_;
};

std::string fault_of_bytes(const ScratchFolder& scratch, const std::string& bytes) {
  const std::string path = scratch / "damaged.kff";
  write_bytes(path, bytes);
  return fault_of<KffSource>(path);
}

Kmers kmers_of_bytes(const ScratchFolder& scratch, const std::string& bytes, std::size_t at_once = 7) {
  const std::string path = scratch / "made.kff";
  write_bytes(path, bytes);
  return read_all<KffSource>(path, at_once);
}

}  // namespace

TEST_CASE("what is written is KFF by definition, and is read again") {
  const ScratchFolder scratch;
  const std::string path = scratch / "a.kff";
  for (const std::uint32_t k : {1u, 3u, 4u, 5u, 15u, 21u, 31u, 32u, 33u, 55u, 61u, 64u}) {
    for (const std::uint32_t bytes : {1u, 2u, 3u, 4u, 8u}) {
      CAPTURE(k);
      CAPTURE(bytes);
      const bool is_canonical = bytes != 3;
      const Kmers kmers = random_kmers(k, 300, is_canonical, bytes);
      write_all<KffSink>(path, {.k = k, .canonical = is_canonical, .min_count = 2, .max_count = 700}, kmers,
                         bytes);
      Decoder decoded(read_bytes(path));
      CHECK(decoded.kmers == kmers);
      CHECK(decoded.is_canonical == is_canonical);
      CHECK(decoded.values["k"] == k);
      CHECK(decoded.values["data_size"] == bytes);
      CHECK(decoded.values["ordered"] == 1);
      CHECK(decoded.raw_sections == 1);
      for (const std::size_t at_once : {std::size_t{1}, std::size_t{64}, std::size_t{1000}})
        CHECK(read_all<KffSource>(path, at_once) == kmers);
      const KffSource source(path);
      CHECK(source.facts().k == k);
      CHECK(source.facts().canonical == is_canonical);
      CHECK(source.facts().min_count == 2);
      CHECK(source.facts().max_count == 700);
      CHECK(source.is_unique());
    }
  }
}

TEST_CASE("many k-mers are several sections, none are one of nothing") {
  const ScratchFolder scratch;
  const std::string path = scratch / "a.kff";
  const std::size_t n = tests::by_tier<std::size_t>(5u << 19, (1u << 20) + 1);
  Kmers kmers(n);
  for (std::size_t i = 0; i < n; ++i) kmers[i] = {Key128{i} << 3, i % 255 + 1};
  write_all<KffSink>(path, {.k = 16, .canonical = false, .largest_count = 255}, kmers);
  Decoder decoded(read_bytes(path));
  CHECK(decoded.raw_sections == (n - 1) / ((1u << 20) / 5) + 1);  // of a mebibyte each, at most
  CHECK(decoded.values["data_size"] == 1);
  CHECK(decoded.kmers == kmers);
  CHECK(read_all<KffSource>(path, 4096) == kmers);

  write_all<KffSink>(path, {.k = 16}, {});
  const Decoder nothing(read_bytes(path));  // programs of KMC refuse files without a section
  CHECK(nothing.raw_sections == 1);
  CHECK(nothing.kmers.empty());
  CHECK(read_all<KffSource>(path).empty());
  CHECK(KffSource(path).facts().k == 16);
}

TEST_CASE("counts have as many bytes as is known to be needed, or 4") {
  const ScratchFolder scratch;
  const auto width = [&](std::uint64_t largest) {
    write_all<KffSink>(scratch / "a.kff", {.k = 9, .largest_count = largest}, {});
    return Decoder(read_bytes(scratch / "a.kff")).values["data_size"];
  };
  CHECK(width(0) == 4);
  CHECK(width(1) == 1);
  CHECK(width(256) == 2);
  CHECK(width(UINT64_MAX) == 8);
}

TEST_CASE("what a file cannot hold is refused, and leaves none") {
  const ScratchFolder scratch;
  const std::string path = scratch / "a.kff";
  const Kmers wide = kmers_of({{"ACGTA", 255}, {"CCGTA", 256}});
  CHECK_THROWS_WITH_AS(write_all<KffSink>(path, {.k = 5}, wide, 1),
                       doctest::Contains("CCGTA has a count of 256"), InputError);
  CHECK_THROWS_AS(write_all<KffSink>(path, {.k = 5}, kmers_of({{"CCGTA", 1}, {"ACGTA", 1}})), InternalError);
  CHECK_THROWS_AS(write_all<KffSink>(path, {.k = 5}, kmers_of({{"CCGTA", 1}, {"CCGTA", 1}})), InternalError);
  CHECK(scratch.files() == 0);
}

TEST_CASE("the example of the specification is read, both ways of writing it") {
  const ScratchFolder scratch;
  Kmers twice = kExampleKmers;
  twice.insert(twice.end(), kExampleKmers.begin(), kExampleKmers.end());
  for (const std::size_t at_once : {std::size_t{1}, std::size_t{2}, std::size_t{100}})
    CHECK(kmers_of_bytes(scratch, example_file(), at_once) == twice);
}

TEST_CASE("sequences of k-mers, with and without minimizers, for all k") {
  const ScratchFolder scratch;
  std::mt19937_64 random(7);
  for (const std::string codes : {"ACGT", "ACTG", "TGCA"}) {
    unsigned encoding = 0;
    for (const char base : std::string("ACGT"))
      encoding = encoding << 2 | static_cast<unsigned>(codes.find(base));
    for (const std::uint32_t k : {1u, 2u, 9u, 31u, 32u, 33u, 64u}) {
      CAPTURE(k);
      const std::uint32_t m = (k + 1) / 2;
      const std::string minimizer = tests::random_text(random, m);
      std::string raw, cut;
      Kmers expected;
      const std::uint64_t max = 300;  // n of 2 bytes, places of 2
      for (std::uint64_t n = 1; n <= max; n += 1 + random() % 40) {
        std::string text = tests::random_text(random, n + k - 1);
        const std::size_t place = random() % (text.size() - m + 1);
        text.replace(place, m, minimizer);
        std::string data;
        for (std::uint64_t i = 0; i < n; ++i) {
          expected.push_back({kmer_of(text.substr(i, k)), 1 + random() % 60000});
          data += number(expected.back().count, 3);
        }
        raw += number(n, 2) + packed(text, codes) + data;
        cut += number(n, 2) + number(place, 2) +
               packed(text.substr(0, place) + text.substr(place + m), codes) + data;
      }
      std::uint64_t blocks = 0;
      for (std::size_t at = 0, left = expected.size(); left > 0; ++blocks) {
        const std::uint64_t n =
            static_cast<std::uint8_t>(raw[at]) * 256u + static_cast<std::uint8_t>(raw[at + 1]);
        at += 2 + (n + k - 1 + 3) / 4 + 3 * n;
        left -= n;
      }
      const std::string common = variables({{"k", k}, {"max", max}, {"data_size", 3}, {"m", m}});
      const std::string of_raw = fmt::format("{}r{}{}", common, number(blocks), raw);
      const std::string of_cut =
          fmt::format("{}m{}{}{}", common, packed(minimizer, codes), number(blocks), cut);
      CHECK(kmers_of_bytes(scratch, file_of(of_raw, false, static_cast<int>(encoding))) == expected);
      CHECK(kmers_of_bytes(scratch, file_of(of_cut, false, static_cast<int>(encoding)), 1000) == expected);
      Kmers canonical_ones = expected;
      for (CountedKmer& each : canonical_ones) each.kmer = canonical(each.kmer, k);
      CHECK(kmers_of_bytes(scratch, file_of(of_raw, true, static_cast<int>(encoding))) == canonical_ones);
    }
  }
}

TEST_CASE("a k-mer a block, in another encoding, with the larger of two strands") {
  const ScratchFolder scratch;
  for (const std::uint32_t k : {3u, 31u, 32u, 33u, 64u}) {
    const Kmers kmers = random_kmers(k, 50, false, 2);
    std::string blocks;
    Kmers smaller;
    for (const CountedKmer& each : kmers) {
      std::string text(k, ' ');
      kmer_to_text(each.kmer, k, text.data());
      blocks += packed(text, "GTAC") + number(each.count, 2);
      smaller.push_back({canonical(each.kmer, k), each.count});
    }
    const std::string sections =
        variables({{"k", k}, {"max", 1}, {"data_size", 2}}) + "r" + number(kmers.size()) + blocks;
    CHECK(kmers_of_bytes(scratch, file_of(sections, false, 0xB1)) == kmers);
    CHECK(kmers_of_bytes(scratch, file_of(sections, true, 0xB1)) == smaller);
  }
}

TEST_CASE("without data counts are 1, with 0 k-mers are left out") {
  const ScratchFolder scratch;
  const auto made = [&](std::uint64_t max, std::uint64_t data_size, const std::string& blocks,
                        std::uint64_t n) {
    return kmers_of_bytes(scratch, file_of(variables({{"k", 4}, {"max", max}, {"data_size", data_size}}) +
                                           "r" + number(n) + blocks));
  };
  CHECK(made(1, 0, packed("ACGT") + packed("TTTT"), 2) == kmers_of({{"ACGT", 1}, {"TTTT", 1}}));
  CHECK(made(9, 0, "\2" + packed("ACGTA"), 1) == kmers_of({{"ACGT", 1}, {"CGTA", 1}}));
  CHECK(made(1, 1, packed("ACGT") + number(0, 1) + packed("TTTT") + number(5, 1), 2) ==
        kmers_of({{"TTTT", 5}}));
  CHECK(made(9, 8, "\2" + packed("ACGTA") + number(0) + number(UINT64_MAX), 1) ==
        kmers_of({{"CGTA", UINT64_MAX}}));
}

TEST_CASE(
    "variables hold until they are set again; sections without k-mers, indexes and unknown variables pass") {
  const ScratchFolder scratch;
  const std::string sections = "i" + number(1) + "v" + number(17) + number(0) +
                               variables({{"k", 4}, {"max", 1}, {"data_size", 1}, {"colour", 3}}) + "r" +
                               number(0) + "r" + number(1) + packed("ACGT") + "\5" +
                               variables({{"data_size", 2}}) + "r" + number(1) + packed("AAAA") +
                               number(300, 2);
  const Kmers expected = kmers_of({{"ACGT", 5}, {"AAAA", 300}});
  CHECK(kmers_of_bytes(scratch, file_of(sections)) == expected);
  // A footer that is none is only an odd one.
  CHECK(kmers_of_bytes(scratch, file_of(sections + variables({{"footer_size", 77}}))) == expected);
  CHECK(kmers_of_bytes(scratch, file_of(sections + variables({{"footer_size", UINT64_MAX}}))) == expected);
}

TEST_CASE("the file says whether a k-mer comes once") {
  const ScratchFolder scratch;
  std::string bytes = file_of(variables({{"k", 4}}));
  bytes[6] = 0;
  write_bytes(scratch / "a.kff", bytes);
  CHECK(!KffSource(scratch / "a.kff").is_unique());
}

TEST_CASE("what is no KFF, or none for us, is refused with file and byte") {
  const ScratchFolder scratch;
  const auto fault = [&](const Variables& some, const std::string& rest) {
    return fault_of_bytes(scratch, file_of(variables(some) + rest));
  };
  const Variables usual = {{"k", 4}, {"max", 1}, {"data_size", 1}};
  const std::string block = packed("ACGT") + "\5", section = "r" + number(1) + block;
  REQUIRE(fault(usual, section).empty());
  CHECK(says(fault_of_bytes(scratch, ""), "no KFF file"));
  CHECK(fault(usual, variables(Variables(4096, {"colour", 1})) + section).empty());
  CHECK(
      says(fault(usual, variables(Variables(4097, {"colour", 1})) + section), "4097 variables in a section"));
  CHECK(says(fault_of_bytes(scratch, "KF"), "no KFF file"));
  CHECK(says(fault_of_bytes(scratch, "ACGT\t1\n"), "no KFF file"));
  CHECK(says(fault_of_bytes(scratch, "KFF"), "cut off"));
  CHECK(says(fault_of_bytes(scratch, file_of("", false, 0x1A)), "two bases have one code"));
  CHECK(says(fault_of_bytes(scratch, std::string("KFF\2\0\x1B\1\1\0\0\0\0KFF", 15)), "version 2"));
  CHECK(says(fault_of_bytes(scratch, std::string("KFF\1\0\x1B\1\1\xFF\xFF\xFF\xFFKFF", 15)), "its header"));
  CHECK(says(fault_of_bytes(scratch, file_of("")), "does not say what k is"));
  CHECK(says(fault_of_bytes(scratch, file_of(section)), "does not say what k is"));
  CHECK(says(fault({{"k", 4}, {"max", 1}}, section), "does not say what data_size is"));
  CHECK(says(fault({{"k", 4}, {"data_size", 1}}, section), "does not say what max is"));
  CHECK(says(fault(usual, "m" + number(1) + block), "does not say what m is"));
  CHECK(says(fault({{"k", 65}, {"max", 1}, {"data_size", 1}}, section), "k is 65"));
  CHECK(says(fault({{"k", 0}, {"max", 1}, {"data_size", 1}}, section), "k is 0"));
  CHECK(says(fault({{"k", 4}, {"max", 0}, {"data_size", 1}}, section), "max is 0"));
  CHECK(says(fault({{"k", 4}, {"max", 1}, {"data_size", 9}}, section), "data_size is 9"));
  CHECK(says(fault({{"k", 4}, {"max", 1}, {"data_size", 1}, {"m", 5}}, "m" + section.substr(1)), "m is 5"));
  CHECK(says(fault(usual, section + variables({{"k", 5}}) + section), "4-mers and 5-mers"));
  // Where things are: the header with its text has 16 bytes, the variables 49.
  CHECK(says(fault(usual, "h"), "damaged.kff', byte 65: "));
  CHECK(says(fault(usual, "h"), "a section begins with 'h'"));
  CHECK(
      says(fault(usual, "r" + number(2) + block), "byte 74: this KFF file is cut off or damaged: 2 blocks"));
  CHECK(says(fault(usual, "r" + number(UINT64_MAX) + block), "blocks do not fit"));
  CHECK(says(
      fault({{"k", 1}, {"m", 1}, {"max", 1}, {"data_size", 0}}, std::string("m\0", 2) + number(UINT64_MAX)),
      "blocks do not fit"));
  CHECK(says(fault(usual, "v" + number(UINT64_MAX) + "k"), "variables do not fit"));
  CHECK(says(fault(usual, "v" + number(1) + std::string(300, 'k')), "does not end"));
  CHECK(says(fault(usual, "v" + number(1) + "kkkkkkkkkkkk"), "a section of variables"));
  CHECK(says(fault(usual, "i" + number(UINT64_MAX / 9)), "sections in an index do not fit"));
  CHECK(says(fault(usual, "i" + number(0) + "1234567"), "an index"));
  CHECK(says(fault(usual, "r" + number(1, 7)), "a section"));
}

TEST_CASE("blocks that cannot be are refused") {
  const ScratchFolder scratch;
  const auto fault = [&](std::uint64_t max, const std::string& letter, const std::string& block) {
    const Variables some = {{"k", 4}, {"max", max}, {"data_size", 1}, {"m", 2}};
    return fault_of_bytes(scratch, file_of(variables(some) + letter + number(1) + block));
  };
  REQUIRE(fault(9, "r", "\2" + packed("ACGTA") + "\5\5").empty());
  CHECK(says(fault(9, "r", number(0, 1) + packed("ACGTA") + "\5\5"), "0 k-mers in a block"));
  CHECK(says(fault(9, "r", number(10, 1) + std::string(40, 'A')), "10 k-mers in a block"));
  CHECK(says(fault(9, "r", "\4" + packed("ACGTACG") + "\5\5"), "it ends in a block"));
  const std::uint64_t most = UINT64_MAX - 64;
  for (const std::uint64_t n : {most, most / 2, most / 4, std::uint64_t{100}})
    CHECK(says(fault(most, "r", number(n) + packed("ACGTA") + "\5\5"), "it ends in a block"));
  CHECK(says(fault(UINT64_MAX, "r", number(1) + packed("ACGT") + "\5"), "max is"));
  REQUIRE(fault(9, "m\1", "\2\3" + packed("ACG") + "\5\5").empty());
  CHECK(says(fault(9, "m\1", "\2\4" + packed("ACG") + "\5\5"), "a minimizer at base 4 of 3"));
}

TEST_CASE("a file that is cut off is noticed, and so is one that goes on with KFF") {
  const ScratchFolder scratch;
  const std::string whole = example_file();
  REQUIRE(fault_of_bytes(scratch, whole).empty());
  // Behind the header, and behind each section, a file may end.
  std::vector<std::size_t> ends = {16};
  for (const std::string& section :
       {kExampleVariables, kExampleRaw, variables({{"m", 8}}), kExampleMinimizer})
    ends.push_back(ends.back() + section.size());
  REQUIRE(ends.back() + 3 == whole.size());
  ends.erase(ends.begin());  // but without any k
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK(!fault_of_bytes(scratch, whole.substr(0, size)).empty());
    if (size > ends.back()) continue;
    const bool is_whole = std::find(ends.begin(), ends.end(), size) != ends.end();
    CHECK(fault_of_bytes(scratch, whole.substr(0, size) + "KFF").empty() == is_whole);
  }
}

TEST_CASE("no damage does more than make an input error") {
  const ScratchFolder scratch;
  write_all<KffSink>(scratch / "a.kff", {.k = 33}, random_kmers(33, 5, true, 4));
  for (const std::string& whole : {example_file(), read_bytes(scratch / "a.kff")}) {
    REQUIRE(fault_of_bytes(scratch, whole).empty());
    for (std::size_t at = 0; at < whole.size(); ++at) {
      for (const int flip : {0x01, 0x02, 0x10, 0x80, 0xFF})
        CHECK_NOTHROW(fault_of_bytes(scratch, warpmer::tests::flipped(whole, at, flip)));
    }
  }
}
