#include "cli/personalities/option_table.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "refusal.h"

using namespace warpmer;
using namespace warpmer::cli;
using Words = std::vector<std::string>;

namespace {

/// The values that the options of a made-up program have set.
struct Taken {
  std::uint32_t k = 0;
  std::uint64_t size = 0;
  std::string name, table = "none";
  bool canonical = false, verbose = false, helps = false;
};

OptionTable made_up(Taken& to, bool is_getopt) {
  using enum ValuePlace;
  return {"count",
          {taken("-k", glued, "", store_number(to.k, 1, 64)),
           taken("-s,--size", free, "", store_number(to.size)), taken("-sn", glued, "", store_text(to.name)),
           taken("-C,--canonical", none, "", set_flag(to.canonical)),
           taken("-v", none, "", set_flag(to.verbose)), ignored("-x,--extra", free, "a thing"),
           taken("-t", optional, "", [&to](const GivenOption& given) { to.table = given.value; }),
           refused("-q", none, "no qualities"), last("-h,--help", set_flag(to.helps))},
          is_getopt};
}

Taken read(const Words& words, Words* others = nullptr, bool is_getopt = true) {
  Taken to;
  const Words rest = take_all_options(made_up(to, is_getopt), words);
  if (others != nullptr) *others = rest;
  return to;
}

std::string refusal_of(const Words& words, bool is_getopt = true) {
  return tests::refusal<UsageError>([&] { read(words, nullptr, is_getopt); });
}

}  // namespace

TEST_CASE("values stand where an option wants them") {
  CHECK(read({"-k31"}).k == 31);
  for (const Words& words : {Words{"-s7"}, {"-s", "7"}, {"--size=7"}, {"--size", "7"}})
    CHECK(read(words).size == 7);
  CHECK(read({"-t"}).table.empty());
  CHECK(read({"-t4"}).table == "4");
  CHECK(read({"-k1", "-k2"}).k == 2);
}

TEST_CASE("the longest name that fits counts") {
  CHECK(read({"-snx"}).name == "x");
  CHECK(read({"-s1", "-snb"}).size == 1);
}

TEST_CASE("letters are joined where a program does that") {
  const Taken all = read({"-Cvk9"});
  CHECK((all.canonical && all.verbose && all.k == 9));
  CHECK(read({"-Cs", "5"}).size == 5);
  CHECK(read({"-vt4"}).table == "4");
  CHECK(refusal_of({"-Cv"}, false) == "count: there is no option '-Cv' (see 'count --help')");
  CHECK(refusal_of({"-Cz"}).find("'-Cz'") != std::string::npos);
}

TEST_CASE("a long name can be cut off where a program does that") {
  CHECK(read({"--can"}).canonical);
  CHECK(read({"--si=7"}).size == 7);
  CHECK(read({"--s", "7"}).size == 7);
  CHECK(refusal_of({"--can"}, false).find("'--can'") != std::string::npos);
  CHECK(refusal_of({"--can=1"}).find("--canonical takes no value") != std::string::npos);
  CHECK(refusal_of({"--=1"}).find("'--' may be --size or --canonical") != std::string::npos);
}

TEST_CASE("nothing is read behind a last option") {
  for (const Words& words : {Words{"-h", "-z"}, {"--help", "-z"}, {"-Chz"}, {"a", "-h", "-s"}})
    CHECK(read(words).helps);
  CHECK(refusal_of({"-z", "-h"}).find("'-z'") != std::string::npos);
}

TEST_CASE("other words are left, and all behind --") {
  Words others;
  CHECK(read({"a", "-k3", "-", "-x", "b", "--", "-k5"}, &others).k == 3);
  CHECK(others == Words{"a", "-", "-k5"});
  Taken to;
  const Words words{"-k3", "-C", "a", "-v"};
  CHECK(take_options(made_up(to, true), words) == 2);
  CHECK_FALSE(to.verbose);
}

TEST_CASE("what cannot be done is refused by name") {
  CHECK(refusal_of({"-q"}) == "count: -q is not done here: no qualities (see 'count --help')");
  CHECK(refusal_of({"-k"}).find("-k needs a value in the same word, as -kVALUE") != std::string::npos);
  CHECK(refusal_of({"--size"}).find("--size needs a value") != std::string::npos);
  CHECK(refusal_of({"-k65"}).find("-k must have a whole number from 1 to 64, not '65'") != std::string::npos);
  CHECK(refusal_of({"-s1e9"}).find("not '1e9'") != std::string::npos);
  CHECK(refusal_of({"--canonical=1"}).find("--canonical takes no value") != std::string::npos);
}

TEST_CASE("help says of each option what becomes of it") {
  Taken to;
  const std::string text = options_text(made_up(to, true));
  CHECK(text.find("-x,--extra VALUE") != std::string::npos);
  CHECK(text.find("a thing (means nothing here)") != std::string::npos);
  CHECK(text.find("refused: no qualities") != std::string::npos);
}
