// Tags with a value for each base, when reads are trimmed or masked: in BAM records and in header lines.
// ctest: one thread

#include "io/hts/base_tags.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "io/compress/little_endian.h"

using namespace warpmer;

namespace {

std::string array(const std::string& name, char type, std::size_t item, const std::vector<unsigned>& values) {
  std::string tag = name + "B" + type;
  io::append_little_endian(tag, values.size(), 4);
  for (const unsigned value : values) io::append_little_endian(tag, value, item);
  return tag;
}

std::string bytes(const std::string& name, const std::vector<unsigned>& values) {
  return array(name, 'C', 1, values);
}

std::string string(const std::string& name, const std::string& value) {
  return name + "Z" + value + std::string(1, '\0');
}

std::string tags_of(const std::string& tags, const io::RemainingBases& bases) {
  std::string out = "before";
  CHECK(io::append_tags(tags, bases, out));
  REQUIRE(out.starts_with("before"));
  return out.substr(6);
}

std::string header_of(const std::string& header, const io::RemainingBases& bases) {
  std::string out = "@";
  io::append_header(header, bases, out);
  return out.substr(1);
}

const io::RemainingBases kCut{5, 1, 3};
const io::RemainingBases kMasked{5, 0, 5};

}  // namespace

TEST_CASE("io base tags: kinetics are cut, those of the other strand at the other end") {
  for (const char* name : {"fi", "fp", "ip", "pw"}) {
    CHECK(tags_of(bytes(name, {1, 2, 3, 4, 5}), kCut) == bytes(name, {2, 3, 4}));
    CHECK(tags_of(bytes(name, {1, 2, 3, 4, 5}), {5, 2, 3}) == bytes(name, {3, 4, 5}));
    CHECK(tags_of(array(name, 'S', 2, {257, 300, 1000, 65535, 5}), kCut) ==
          array(name, 'S', 2, {300, 1000, 65535}));
  }
  for (const char* name : {"ri", "rp"}) {
    CHECK(tags_of(bytes(name, {1, 2, 3, 4, 5}), {5, 0, 2}) == bytes(name, {4, 5}));
    CHECK(tags_of(bytes(name, {1, 2, 3, 4, 5}), {5, 2, 3}) == bytes(name, {1, 2, 3}));
  }
  CHECK(tags_of(bytes("fi", {1, 2, 3, 4, 5}), {5, 5, 0}).empty());
  CHECK(tags_of(bytes("fi", {1, 2, 3, 4, 5, 6}), kCut).empty());
  CHECK(tags_of(string("fi", "abcde"), kCut).empty());
  CHECK(tags_of(bytes("fi", {}), kCut) == bytes("fi", {}));  // no passes over this strand
}

TEST_CASE("io base tags: what is not known to be right is left out of what is cut") {
  const std::string around = string("RG", "a") + std::string("npi\x05\0\0\0", 7);
  for (const std::string& tag : {bytes("mv", {5, 1, 0, 1, 1, 0, 1, 1}), string("dq", "hijkl"),
                                 bytes("tp", {1, 1, 2, 1, 1}), array("XI", 'i', 4, {1, 2, 3, 4, 5}),
                                 array("Xf", 'f', 4, {1, 2, 3, 4, 5}), std::string("XHH0102030405\0", 14)}) {
    CAPTURE(tag);
    CHECK(tags_of(around + tag + around, kCut) == around + around);
    CHECK(tags_of(around + tag + around, kMasked) == around + tag + around);
  }
  for (const std::string& tag : {string("RG", "group"), string("RX", "ACGTA"), string("zz", "abcd"),
                                 bytes("sn", {1, 2, 3, 4}), std::string("XAA5")}) {
    CHECK(tags_of(around + tag + around, kCut) == around + tag + around);
  }
}

TEST_CASE("io base tags: what depends on masked bases is left out of them, too") {
  for (const char* name : {"MM", "ML", "MN", "Mm", "Ml", "OQ", "BQ", "E2", "U2", "CS", "CQ"}) {
    CAPTURE(name);
    const std::string around = string("CO", "text");
    for (const io::RemainingBases& bases : {kCut, kMasked}) {
      CHECK(tags_of(around + string(name, "ab") + around, bases) == around + around);
      CHECK(tags_of(around + bytes(name, {7}) + around, bases) == around + around);
      CHECK(tags_of(std::string(name) + std::string("i\1\0\0\0", 5) + around, bases) == around);
    }
  }
}

TEST_CASE("io base tags: damaged ones are noticed") {
  std::string out;
  for (const std::string& bad : {std::string("X"), std::string("XXi\1"), std::string("XX?\1"),
                                 std::string("XZZab"), std::string("XBBi\xff\xff\xff\x7f"),
                                 std::string("fiBC\x05\0\0\0\1", 9), std::string("fiB?\0\0\0\0", 8)}) {
    CHECK_FALSE(io::append_tags(string("RG", "a") + bad, kCut, out));
  }
}

TEST_CASE("io base tags: header lines have them as text") {
  CHECK(header_of("r1", kCut) == "r1");
  CHECK(header_of("", kCut).empty());
  CHECK(header_of("r1 MM:Z:a a\tb", kCut) == "r1 MM:Z:a a\tb");
  CHECK(header_of("r1\tRG:Z:x\tMM:Z:C+m,0;\tML:B:C,9\tnp:i:3", kCut) == "r1\tRG:Z:x\tnp:i:3");
  CHECK(header_of("r1\tMM:Z:C+m,0;\tfi:B:C,1,2,3,4,5\tmv:B:c,5,1,0", kMasked) ==
        "r1\tfi:B:C,1,2,3,4,5\tmv:B:c,5,1,0");
  CHECK(header_of("r1\tfi:B:C,1,2,3,4,5\tmv:B:c,5,1,0\tdq:Z:abcde\tzz:Z:abcd\tXH:H:0102030405\t", kCut) ==
        "r1\tzz:Z:abcd\t");
  CHECK(header_of("r1\t\tMM:Z:\tMM:Q:a\tM:Z:aa\tRG:Z:group", kCut) == "r1\t\tMM:Q:a\tM:Z:aa\tRG:Z:group");
  // A mate of which nothing is left is written as one N.
  CHECK(header_of("r1\tfi:B:C,1,2,3,4,5\tOQ:Z:abcde", {5, 5, 1}) == "r1");
}
