// ctest: one thread

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "backend/empty_input.h"
#include "base/warning.h"
#include "cli/framework/printable.h"
#include "cli/framework/suggestion.h"
#include "file/shell_word.h"

using namespace warpmer::cli;
using Words = std::vector<std::string>;

TEST_CASE("text that would do something to a terminal or a table is escaped") {
  CHECK(printable("plain \\ 'text' ~") == "plain \\ 'text' ~");
  CHECK(printable("a\tb\nc\rd") == "a\\tb\\nc\\rd");
  CHECK(printable(std::string("\0\x1b[31m\x7f", 7)) == "\\x00\\x1b[31m\\x7f");
  CHECK(printable("gr\xc3\xb6\xc3\x9f"
                  "e \xe8\xa9\xa6 \xf0\x9f\xa7\xac") ==
        "gr\xc3\xb6\xc3\x9f"
        "e \xe8\xa9\xa6 \xf0\x9f\xa7\xac");
  CHECK(printable("\xc2\x9b"
                  "1m") == "\\x9b1m");                    // a control character of two bytes
  CHECK(printable("\x80\xff\xc3") == "\\x80\\xff\\xc3");  // none, none, cut off
  CHECK(printable("\xc0\x9b \xe0\x82\x9b") == "\\xc0\\x9b \\xe0\\x82\\x9b");  // too long forms
  CHECK(printable("\xed\xa0\x80\xf4\x90\x80\x80") == "\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80");
  CHECK(printable("a\xe2\x80\xae"
                  "b\xe2\x80\xa8") == "a\\u{202e}b\\u{2028}");
  CHECK(printable("").empty());
}

TEST_CASE("edit distances count letters and swapped neighbours") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("count", "cuont") == 1);
  CHECK(edit_distance("output", "ouput") == 1);
  CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("near words are suggested, far ones are not") {
  const Words commands = {"count", "compare", "convert", "histo", "qv"};
  CHECK(near_words("cuont", commands) == Words{"count"});
  CHECK(near_words("COUNT", commands) == Words{"count"});
  CHECK(near_words("comp", commands) == Words{"compare"});
  CHECK(near_words("co", commands) == Words{"count", "compare", "convert"});
  CHECK(near_words("frobnicate", commands).empty());
  CHECK(near_words("q", commands).empty());
  const Words options = {"-k", "-o", "--output", "-m", "--memory", "--min-count", "--tmp-dir"};
  CHECK(near_options("--tmpdir=/x", options) == Words{"--tmp-dir"});
  CHECK(near_options("--kmer-size", options) == Words{"-k"});
  CHECK(near_options("--kmer-size", {"--output"}).empty());
  CHECK(near_options("-Z", options).empty());
  CHECK(did_you_mean({}).empty());
  CHECK(did_you_mean({"a"}) == "; did you mean 'a'?");
  CHECK(did_you_mean({"a", "b", "c"}) == "; did you mean 'a', 'b' or 'c'?");
}

TEST_CASE("an input without k-mers is told, with a reason that is true") {
  std::vector<std::string> told;
  const auto before =
      warpmer::listen_for_warnings([&](const std::string& message) { told.push_back(message); });
  using warpmer::backend::warn_if_empty;
  using Read = warpmer::backend::ReadTotals;
  warn_if_empty(Read{5, 100, 1}, 31);
  CHECK(told.empty());
  warn_if_empty(Read{0, 0, 0}, 31, "x.fa");
  warn_if_empty(Read{1, 30, 0}, 31);
  warn_if_empty(Read{1, 31, 0}, 31);
  warn_if_empty(Read{3, 40, 0}, 31);
  warpmer::listen_for_warnings(before);
  REQUIRE(told.size() == 4);
  CHECK(told[0].find("no sequence in x.fa") != std::string::npos);
  CHECK(told[1].ends_with("its sequence is shorter than k = 31"));
  CHECK(told[2].find("shorter") == std::string::npos);
  CHECK(told[3].find("all 3 sequences are shorter than k = 31, or without 31 bases") != std::string::npos);
}

TEST_CASE("words of suggested commands can be pasted into a shell") {
  using namespace warpmer::file;
  CHECK(shell_word("reads_1.fq.bz2") == "reads_1.fq.bz2");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("my reads; rm x") == "'my reads; rm x'");
  CHECK(shell_word("it's") == "'it'\\''s'");
  CHECK(shell_word("a\nb'\\") == "$'a\\012b\\'\\\\'");
  CHECK(shell_path("-x.bz2") == "./-x.bz2");
  CHECK(shell_input("a b") == "'a b'");
  CHECK(shell_input("standard input") == "FILE");
}
