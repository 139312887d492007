// ctest: one thread

#include "io/text/line_reader.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "unit/io/io_fixture.h"

using namespace io_test;

namespace {

constexpr io::LineLimit kLimit{1000, "this line is too long for the test"};
using Lines = std::vector<std::string>;

Lines lines_of(const std::string& path) {
  io::LineReader reader(path, 1, kLimit);
  Lines lines;
  for (std::string_view line; reader.next_line(line);) {
    lines.emplace_back(line);
    CHECK(reader.line() == lines.size());
  }
  return lines;
}

/// The entries, with the numbers of their lines.
std::vector<std::pair<std::uint64_t, std::string>> entries_of(const std::string& path) {
  io::LineReader reader(path, 1, kLimit);
  std::vector<std::pair<std::uint64_t, std::string>> entries;
  for (std::string_view entry; reader.next_entry(entry);) entries.emplace_back(reader.line(), entry);
  return entries;
}

std::string error_of(const std::string& path) {
  return refusal<warpmer::Error>([&] { static_cast<void>(lines_of(path)); });
}

}  // namespace

TEST_CASE("io lines: they end in LF, CR LF or CR, and the last one need not") {
  const ScratchFolder folder;
  const Lines abc = {"a", "", " b\t", "c"};
  for (const char* const text :
       {"a\n\n b\t\nc\n", "a\r\n\r\n b\t\r\nc\r\n", "a\r\r b\t\rc\r", "a\n\r\n b\t\rc",
        "\xef\xbb\xbf\x61\r\n\n b\t\r\nc"})  // behind a byte order mark
    CHECK(lines_of(folder.write("x", text)) == abc);
  CHECK(lines_of(folder.write("x", "")).empty());
  CHECK(lines_of(folder.write("x", "\xef\xbb\xbf")).empty());
  CHECK(lines_of(folder.write("x", "\r")) == Lines{""});
  CHECK(lines_of(folder.write("x", "a")) == Lines{"a"});
  CHECK(lines_of(folder.write("x",
                              "\xef\xbb"
                              "a")) == Lines{"\xef\xbb"
                                             "a"});
  CHECK(lines_of(folder.write("x", std::string("a\0b\n\0", 5))) ==
        Lines{std::string("a\0b", 3), std::string(1, '\0')});
}

TEST_CASE("io lines: an entry is what is no comment, without blanks around it, and keeps its line's number") {
  const ScratchFolder folder;
  const std::string path = folder.write("x", " a b \r\n\n#c\n \t# d\n\t\ne#f\rg");
  const std::vector<std::pair<std::uint64_t, std::string>> expected = {{1, "a b"}, {6, "e#f"}, {7, "g"}};
  CHECK(entries_of(path) == expected);
  CHECK(io::first_word("a b") == "a");
  CHECK(io::first_word("a\tb c") == "a");
  CHECK(io::first_word("ab") == "ab");
  CHECK(io::first_word("") == "");
}

TEST_CASE("io lines: chunks of a long text, plain and compressed, are its lines, wherever reads end") {
  const ScratchFolder folder;
  // Ends of lines fall on every place around the ends of reads.
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    std::string text, expected;
    for (std::size_t i = 0; text.size() < (std::size_t{1} << 20); ++i) {
      const std::string line(i * i % 37, static_cast<char>('a' + i % 26));
      text += line + end;
      expected += line + "\n";
    }
    for (const bool packed : {false, true}) {
      for (const std::size_t least : {std::size_t{1}, std::size_t{400} << 10}) {
        io::LineReader reader(folder.write("x", packed ? deflate(text) : text), 2, kLimit);
        io::LineText some;
        std::string joined;
        std::uint64_t line = 1, disk_bytes = 0;
        while (reader.next_text(some, least)) {
          CHECK(some.first_line == line);
          REQUIRE(some.text.back() == '\n');
          line += static_cast<std::uint64_t>(std::count(some.text.begin(), some.text.end(), '\n'));
          disk_bytes += some.disk_bytes;
          joined += some.text;
        }
        CHECK(joined == expected);
        CHECK(disk_bytes == reader.file_bytes());
        CHECK_FALSE(reader.is_cut_off());
      }
    }
    CHECK(lines_of(folder / "x").size() ==
          static_cast<std::size_t>(std::count(expected.begin(), expected.end(), '\n')));
  }
}

TEST_CASE("io lines: a last line without an end may be cut off") {
  const ScratchFolder folder;
  io::LineReader reader(folder.write("x", "head\na\nb"), 1, kLimit);
  std::string_view line;
  REQUIRE(reader.next_line(line));
  CHECK(line == "head");
  CHECK_FALSE(reader.is_cut_off());
  io::LineText rest;
  REQUIRE(reader.next_text(rest, 1000));
  CHECK(rest.text == "a\nb\n");
  CHECK(rest.first_line == 2);
  CHECK(reader.is_cut_off());
  CHECK(reader.line() == 3);
  CHECK_FALSE(reader.next_text(rest));
}

TEST_CASE("io lines: what is no text is refused at its first wrong line, not read into memory") {
  const ScratchFolder folder;
  CHECK(contains(error_of("/dev/zero"), "/dev/zero, line 1: this line is too long for the test"));
  const std::string longer(1001, 'x');
  CHECK(error_of(folder.write("x", longer.substr(1) + "\r\n")).empty());
  CHECK(contains(error_of(folder.write("x", "a\n" + longer + "\nb\n")), "line 2: this line is too long"));
  CHECK(contains(error_of(folder.write("x", "a\n\n" + longer)), "line 3: this line is too long"));
  CHECK(contains(error_of(folder.write("x",
                                       "\xff\xfe"
                                       "a")),
                 "line 1: this is text in UTF-16"));
  CHECK(contains(error_of(folder.write("x",
                                       "\xfe\xff"
                                       "a")),
                 "line 1: this is text in UTF-16"));
  CHECK(contains(error_of(folder / "none"), "none: cannot be opened: No such file"));
  io::LineReader reader("/dev/zero", 1, {kLimit.bytes, "too little memory", true});
  io::LineText text;
  CHECK_THROWS_WITH_AS(reader.next_text(text), "/dev/zero, line 1: too little memory",
                       warpmer::ResourceError);
}
