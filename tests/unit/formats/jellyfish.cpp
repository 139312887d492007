// Jellyfish databases: what is written, decoded by the format's definition; bytes made by hand, read; damage.
// ctest: one thread

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "formats/jellyfish/jellyfish_file.h"
#include "formats/jellyfish/jellyfish_order.h"
#include "unit/formats/counted_kmers.h"

using namespace warpmer;
using namespace warpmer::formats;
using namespace warpmer::formats::test;

namespace {

using Json = nlohmann::json;

/// A file, taken apart by what jellyfish_file.h says of the format.
struct Decoded {
  Json header;
  Kmers kmers;
  std::vector<std::uint64_t> positions;
};

/// The matrix times a k-mer, bit by bit: the first column belongs to the highest bit.
std::uint64_t product(const Json& matrix, Key128 kmer) {
  if (matrix["identity"].get<bool>()) return static_cast<std::uint64_t>(kmer);
  const auto columns = matrix["columns"].get<std::vector<std::uint64_t>>();
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if ((kmer >> (columns.size() - 1 - i) & 1) != 0) sum ^= columns[i];
  }
  return sum;
}

/// True when the matrix, below an identity, is a square that has an inverse: Jellyfish's hash holds of a
/// k-mer the bits beyond the position, and makes the others of the two.
bool has_inverse(const Json& matrix) {
  if (matrix["identity"].get<bool>()) return true;
  auto columns = matrix["columns"].get<std::vector<std::uint64_t>>();
  const auto rows = matrix["r"].get<std::size_t>();
  columns.erase(columns.begin(), columns.end() - static_cast<std::ptrdiff_t>(rows));
  for (std::size_t row = 0; row < rows; ++row) {
    std::size_t pivot = row;
    while (pivot < rows && (columns[pivot] >> row & 1) == 0) ++pivot;
    if (pivot == rows) return false;
    std::swap(columns[row], columns[pivot]);
    for (std::size_t i = row + 1; i < rows; ++i) {
      if ((columns[i] >> row & 1) != 0) columns[i] ^= columns[row];
    }
  }
  return true;
}

Decoded decode(const std::string& bytes) {
  Decoded decoded;
  const auto length = static_cast<std::size_t>(std::stoul(bytes.substr(0, 9)));
  REQUIRE((9 + length) % 8 == 0);
  std::string header = bytes.substr(9, length);
  header.erase(header.find_last_not_of('\0') + 1);
  decoded.header = Json::parse(header);
  const auto key_bytes = (decoded.header["key_len"].get<std::size_t>() + 7) / 8;
  const auto count_bytes = decoded.header["counter_len"].get<std::size_t>();
  const auto size = decoded.header["size"].get<std::uint64_t>();
  for (std::size_t at = 9 + length; at < bytes.size(); at += key_bytes + count_bytes) {
    CountedKmer record{};
    for (std::size_t i = key_bytes; i-- > 0;)
      record.kmer = record.kmer << 8 | static_cast<std::uint8_t>(bytes.at(at + i));
    for (std::size_t i = count_bytes; i-- > 0;)
      record.count = record.count << 8 | static_cast<std::uint8_t>(bytes.at(at + key_bytes + i));
    decoded.kmers.push_back(record);
    decoded.positions.push_back(product(decoded.header["matrix1"], record.kmer) & (size - 1));
  }
  return decoded;
}

/// Returns the k-mers in the order that the sink needs if it is told how many they are.
Kmers in_order(Kmers kmers, std::uint32_t k) {
  const JellyfishOrder<Key128> order(k, jellyfish_position_bits(k, kmers.size()));
  std::sort(kmers.begin(), kmers.end(),
            [&](const auto& a, const auto& b) { return order.rank(a.kmer) < order.rank(b.kmer); });
  return kmers;
}

std::string with_header(const std::string& json, const std::string& records) {
  return fmt::format("{:09}", json.size()) + json + records;
}

/// Three 5-mers with counts of 3 bytes, as another program may have written them: another matrix (it is not
/// looked at), unknown fields.
const std::string kHeader =
    R"({"format":"binary/sorted","key_len":10,"counter_len":3,"size":4,"canonical":true,"later":[{}],)"
    R"("matrix1":{"r":2,"c":10,"columns":[1,2,3,0,1,2,3,0,1,2]},"max_reprobe":0,"reprobes":[1]})";
/// AACGT = 00 00 01 10 11 = 0x01B; CAACC = 01 00 00 01 01 = 0x105; AAAAA = 0.
const std::string kRecords(
    "\x1B\x00\x01\x02\x00"
    "\x05\x01\xFF\xFF\xFF"
    "\x00\x00\x01\x00\x00",
    15);

std::string fault_of_bytes(const ScratchFolder& scratch, const std::string& bytes) {
  const std::string path = scratch / "damaged.jf";
  write_bytes(path, bytes);
  return fault_of<JellyfishSource>(path);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("what is written is a database by definition, and is read again") {
  const ScratchFolder scratch;
  const std::string path = scratch / "a.jf";
  for (const std::uint32_t k : {1u, 4u, 5u, 15u, 21u, 31u, 32u, 33u, 55u, 63u, 64u}) {
    for (const std::uint32_t bytes : {1u, 2u, 3u, 4u, 7u}) {
      CAPTURE(k);
      CAPTURE(bytes);
      const bool is_canonical = bytes != 3;
      const Kmers kmers = in_order(random_kmers(k, 300, is_canonical, bytes), k);
      write_all<JellyfishSink>(path, {.k = k, .canonical = is_canonical, .distinct = kmers.size()}, kmers,
                               bytes);
      const Decoded decoded = decode(read_bytes(path));
      CHECK(decoded.kmers == kmers);
      CHECK(decoded.header["format"] == "binary/sorted");
      CHECK(decoded.header["key_len"] == 2 * k);
      CHECK(decoded.header["counter_len"] == bytes);
      CHECK(decoded.header["canonical"] == is_canonical);
      const Json& matrix = decoded.header["matrix1"];
      CHECK(decoded.header["size"] == (k < 8 ? std::uint64_t{1} << (2 * k) : 32768));
      CHECK(matrix["r"] == (k < 8 ? 2 * k : 15));
      CHECK(matrix["c"] == 2 * k);
      CHECK(matrix["identity"] == (k < 8));
      CHECK(has_inverse(matrix));
      if (k >= 8) CHECK(matrix["columns"].size() == 2 * k);
      CHECK(decoded.header["reprobes"].size() == decoded.header["max_reprobe"].get<std::size_t>() + 1);
      for (std::size_t i = 1; i < kmers.size(); ++i) {
        const auto before = std::pair(decoded.positions[i - 1], decoded.kmers[i - 1].kmer);
        CHECK(before < std::pair(decoded.positions[i], decoded.kmers[i].kmer));
      }
      for (const std::size_t at_once : {std::size_t{1}, std::size_t{64}, std::size_t{1000}})
        CHECK(read_all<JellyfishSource>(path, at_once) == kmers);
      const JellyfishSource source(path);
      CHECK(source.facts().k == k);
      CHECK(source.facts().canonical == is_canonical);
      CHECK(source.facts().largest_count == (std::uint64_t{1} << (8 * bytes)) - 1);
    }
  }
}

TEST_CASE("a rank is a k-mer in another place") {
  std::mt19937_64 random(5);
  for (std::uint32_t k = 1; k <= kMaxK; ++k) {
    CAPTURE(k);
    for (int i = 0; i < 100; ++i) {
      const auto bits = static_cast<std::uint32_t>(1 + random() % std::min(2 * k, 63u));
      const JellyfishOrder<Key128> order(k, bits);
      // Few bases, as where sequences are simple, and any.
      const Key128 any = Key128{random()} << 64 | random();
      const Key128 kmer = (i % 2 == 0 ? any : Key128{1} << random() % (2 * k)) & key_mask<Key128>(k);
      const Key128 rank = order.rank(kmer);
      CHECK((rank & ~key_mask<Key128>(k)) == 0);
      CHECK(static_cast<std::uint64_t>(rank >> (2 * k - bits)) == order.position(kmer));
      CHECK(order.kmer(rank) == kmer);
      if (k > kMaxNarrowK) continue;
      CHECK(JellyfishOrder<Key64>(k, bits).rank(static_cast<Key64>(kmer)) == rank);
      CHECK(JellyfishOrder<Key64>(k, bits).kmer(static_cast<Key64>(rank)) == kmer);
    }
  }
}

TEST_CASE("a hash has room for the k-mers, and is as large as is wanted") {
  CHECK(jellyfish_position_bits(21, 0) == 15);
  CHECK(jellyfish_position_bits(5, 0) == 10);
  CHECK(jellyfish_position_bits(5, 0, 100'000'000) == 10);
  CHECK(jellyfish_position_bits(21, 0, 100'000'000) == 27);
  CHECK(jellyfish_position_bits(21, 1000, std::uint64_t{1} << 20) == 20);
  CHECK(jellyfish_position_bits(21, std::uint64_t{1} << 20, std::uint64_t{1} << 20) == 21);
  CHECK(jellyfish_position_bits(21, 800'000, std::uint64_t{1} << 20) == 20);
  CHECK(jellyfish_position_bits(64, UINT64_MAX, UINT64_MAX) == 62);
}

TEST_CASE("repeats have positions as others do") {
  // Of each k, all k-mers of short repeats: they must not meet at a few positions.
  for (const std::uint32_t k : {21u, 31u, 47u, 64u}) {
    for (const std::uint32_t bits : {15u, 16u, 20u, 24u, 26u}) {
      const JellyfishOrder<Key128> order(k, bits);
      std::map<std::uint64_t, int> positions;
      int most = 0;
      for (std::uint32_t period = 5; period <= 7; ++period) {
        for (std::uint64_t unit = 0; unit < std::uint64_t{1} << (2 * period); ++unit) {
          Key128 kmer = 0;
          for (std::uint32_t i = 0; i < k; ++i) kmer = kmer << 2 | (unit >> (2 * (i % period)) & 3);
          most = std::max(most, ++positions[order.position(kmer & key_mask<Key128>(k))]);
        }
      }
      CAPTURE(k);
      CAPTURE(bits);
      CHECK(most <= 16);
    }
  }
}

TEST_CASE("databases of one k and size have one header, whatever is in them") {
  const ScratchFolder scratch;
  write_all<JellyfishSink>(scratch / "none.jf", {.k = 31}, {});
  write_all<JellyfishSink>(scratch / "some.jf", {.k = 31, .distinct = 50},
                           in_order(random_kmers(31, 50, true, 2), 31));
  CHECK(read_bytes(scratch / "some.jf").starts_with(read_bytes(scratch / "none.jf")));
  CHECK(read_all<JellyfishSource>(scratch / "none.jf").empty());
}

TEST_CASE("counts have 4 bytes, and more where that is known to be needed") {
  const ScratchFolder scratch;
  const auto width = [&](std::uint64_t largest) {
    write_all<JellyfishSink>(scratch / "a.jf", {.k = 9, .largest_count = largest}, {});
    return decode(read_bytes(scratch / "a.jf")).header["counter_len"].get<unsigned>();
  };
  CHECK(width(0) == 4);
  CHECK(width(1) == 4);
  CHECK(width(UINT32_MAX) == 4);
  CHECK(width(std::uint64_t{1} << 32) == 5);
  CHECK(width(kLargestJellyfishCount) == 7);
  CHECK(width(UINT64_MAX) == 7);
}

TEST_CASE("bytes of another program are read") {
  const ScratchFolder scratch;
  const std::string path = scratch / "a.jf";
  write_bytes(path, with_header(kHeader + std::string(3, '\0'), kRecords));
  const Kmers expected = {{kmer_of("AACGT"), 0x201}, {kmer_of("CAACC"), 0xFFFFFF}, {kmer_of("AAAAA"), 1}};
  CHECK(read_all<JellyfishSource>(path) == expected);
  CHECK(JellyfishSource(path).facts().k == 5);
  CHECK(JellyfishSource(path).facts().canonical);

  SUBCASE("a count of 0 is left out") {
    write_bytes(path,
                with_header(kHeader, kRecords.substr(0, 2) + std::string(3, '\0') + kRecords.substr(5)));
    CHECK(read_all<JellyfishSource>(path) == Kmers(expected.begin() + 1, expected.end()));
  }
  SUBCASE("k-mers of one strand may be any") {
    const std::string forward = replaced(kHeader, R"("canonical":true,)", "");
    write_bytes(path, with_header(forward, std::string("\xFF\x03\x01\x00\x00", 5)));
    CHECK(read_all<JellyfishSource>(path) == Kmers{{kmer_of("TTTTT"), 1}});
    CHECK(!JellyfishSource(path).facts().canonical);
  }
  SUBCASE("counts of 8 bytes, and what Jellyfish makes of them") {
    const std::string wide = replaced(kHeader, R"("counter_len":3)", R"("counter_len":8)");
    write_bytes(path, with_header(wide, std::string("\x1B\x00\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 10)));
    CHECK(read_all<JellyfishSource>(path) == Kmers{{kmer_of("AACGT"), UINT64_MAX - 1}});
    write_bytes(path, with_header(wide, std::string("\x1B\x00\0\0\0\0\0\0\0\0", 10)));
    CHECK(says(fault_of<JellyfishSource>(path), "loses all counts of 8 bytes"));
  }
}

TEST_CASE("what a database cannot hold is refused, and leaves no file") {
  const ScratchFolder scratch;
  const std::string path = scratch / "a.jf";
  const Kmers wide = {{kmer_of("ACGTA"), 255}, {kmer_of("CCGTA"), 256}};
  CHECK_THROWS_WITH_AS(write_all<JellyfishSink>(path, {.k = 5}, wide, 1),
                       doctest::Contains("CCGTA has a count of 256"), InputError);
  Kmers unsorted = in_order(wide, 5);
  std::swap(unsorted[0], unsorted[1]);
  CHECK_THROWS_AS(write_all<JellyfishSink>(path, {.k = 5}, unsorted), InternalError);
  const Kmers twice = {{kmer_of("CCGTA"), 1}, {kmer_of("CCGTA"), 1}};
  CHECK_THROWS_AS(write_all<JellyfishSink>(path, {.k = 5}, twice), InternalError);
  CHECK_THROWS_AS(write_all<JellyfishSink>(path, {.k = 5}, {}, 8), UsageError);
  CHECK(scratch.files() == 0);
}

TEST_CASE("what is no database, or none for us, is refused by its name") {
  const ScratchFolder scratch;
  const auto fault = [&](const std::string& from, const std::string& to) {
    return fault_of_bytes(scratch, with_header(replaced(kHeader, from, to), kRecords));
  };
  CHECK(says(fault("binary/sorted", "text/sorted"), "jellyfish dump -c"));
  CHECK(says(fault("binary/sorted", "bloomcounter"), "Bloom counter"));
  CHECK(says(fault("binary/sorted", "binary/later"), "binary/later"));
  CHECK(says(fault(R"("format":"binary/sorted",)", ""), "no 'format'"));
  CHECK(says(fault(R"("format":"binary/sorted")", R"("format":7)"), "no 'format'"));
  CHECK(says(fault(R"("key_len":10)", R"("key_len":11)"), "'key_len' is 11"));
  CHECK(says(fault(R"("key_len":10)", R"("key_len":130)"), "k-mers of 65 bases"));
  CHECK(says(fault(R"("key_len":10)", R"("key_len":0)"), "no 'key_len'"));
  CHECK(says(fault(R"("key_len":10)", R"("key_len":-2)"), "no 'key_len'"));
  CHECK(says(fault(R"("key_len":10)", R"("key_len":1e9)"), "no 'key_len'"));
  CHECK(says(fault(R"("key_len":10)", R"("key_len":18446744073709551616)"), "no 'key_len'"));
  CHECK(says(fault(R"("counter_len":3)", R"("counter_len":9)"), "no 'counter_len'"));
  CHECK(says(fault(R"("counter_len":3)", R"("counter_len":0)"), "no 'counter_len'"));
  CHECK(says(fault(R"("counter_len":3,)", ""), "no 'counter_len'"));
  CHECK(says(fault(R"("key_len":10,)", R"("key_len":10:)"), "no JSON"));
  const std::string nested(100000, '[');
  CHECK(says(fault(R"([{}])", nested), "no JSON"));
  CHECK(says(fault_of_bytes(scratch, ""), "no Jellyfish database"));
  CHECK(says(fault_of_bytes(scratch, "000000012"), "no Jellyfish database"));
  CHECK(says(fault_of_bytes(scratch, "AACGT\t1\n"), "no Jellyfish database"));
  CHECK(says(fault_of_bytes(scratch, "999999999" + kHeader + kRecords), "cut off in its header"));
  // Lists and what is inside of others are passed over; the header is no list, and is not endless.
  const std::string others =
      R"({"a":[1,[2,{"key_len":7}],{"format":[]}],"b":{"counter_len":{}},"cmdline":["x"],)";
  CHECK(fault_of_bytes(scratch, with_header(others + kHeader.substr(1), kRecords)).empty());
  CHECK(says(fault_of_bytes(scratch, with_header(kHeader + "]", kRecords)), "its header is no JSON"));
  CHECK(says(fault_of_bytes(scratch, with_header(replaced(kHeader, "{", R"({"format":[)"), kRecords)),
             "no JSON"));
  const std::string endless =
      R"({"a":")" + std::string(std::size_t{4} << 20, 'x') + R"(",)" + kHeader.substr(1);
  CHECK(says(fault_of_bytes(scratch, with_header(endless, kRecords)), "a header of 4194"));
  // Base 3 of AACGT's byte, and a bit beyond the key.
  const auto broken = [&](std::size_t byte, char value) {
    std::string records = kRecords;
    records[byte] = value;
    return fault_of_bytes(scratch, with_header(kHeader, records));
  };
  const std::size_t first = 9 + kHeader.size();
  CHECK(says(broken(1, '\x04'), fmt::format("the record at byte {} is no canonical 5-mer", first)));
  CHECK(says(broken(6, '\x03'), fmt::format("the record at byte {} is no canonical 5-mer", first + 5)));
  CHECK(says(fault_of<JellyfishSource>(scratch / "absent.jf"), "absent.jf"));
}

TEST_CASE("a file that is cut off is noticed, but between two records") {
  const ScratchFolder scratch;
  const std::string whole = with_header(kHeader, kRecords);
  REQUIRE(fault_of_bytes(scratch, whole).empty());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    const std::size_t records = size - std::min(size, whole.size() - kRecords.size());
    const bool is_whole = size >= whole.size() - kRecords.size() && records % 5 == 0;  // nothing tells
    CHECK(fault_of_bytes(scratch, whole.substr(0, size)).empty() == is_whole);
  }
}

TEST_CASE("no damage does more than make an input error") {
  const ScratchFolder scratch;
  const std::string whole = with_header(kHeader, kRecords);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int flip : {0x01, 0x02, 0x10, 0x80, 0xFF})
      CHECK_NOTHROW(fault_of_bytes(scratch, warpmer::tests::flipped(whole, at, flip)));
  }
}
