// ctest: one thread

#include <doctest/doctest.h>

#include "cli/framework/application.h"
#include "cli/framework/command_doc.h"
#include "cli/framework/completion.h"
#include "cli/framework/help.h"
#include "cli/framework/man_page.h"

using namespace warpmer::cli;
using Words = std::vector<std::string>;

TEST_CASE("file names that CLI11 would misread are protected") {
  CHECK(protect_file_names({"count", "-k", "31", "-"}) == Words{"count", "-k", "31", "-"});
  CHECK(protect_file_names({"count", "a", "--", "-b", "c", "-"}) == Words{"count", "a", "./-b", "c", "-"});
  CHECK(protect_file_names({"count", "[a,b]", "@list"}) == Words{"count", "./[a,b]", "@list"});
}

TEST_CASE("command lines can be pasted back into a shell") {
  CHECK(quote_command_line({"warpmer", "count", "-k", "31", "@x.txt"}) == "warpmer count -k 31 @x.txt");
  CHECK(quote_command_line({"a b", "", "it's", "$x"}) == "'a b' '' 'it'\\''s' '$x'");
}

TEST_CASE("every command and option is documented, in all three forms") {
  const Application application("");
  const CommandDoc root = describe(application.root());
  REQUIRE(root.commands.size() >= 6);
  const std::string bash = render_bash_completion(root);
  const std::string zsh = render_zsh_completion(root);
  const std::string fish = render_fish_completion(root);
  for (const CommandDoc& command : root.commands) {
    CAPTURE(command.name);
    CHECK(command.summary.ends_with("."));
    REQUIRE_FALSE(command.sections.empty());
    CHECK(command.sections.back().title == "Examples");
    CHECK(bash.find("\n    " + command.name + ")") != std::string::npos);
    const std::string help = render_help(command);
    for (const OptionDoc& option : command.options) {
      CAPTURE(option.names.front());
      CHECK(option.text.ends_with("."));
      CHECK(help.find("  " + option.heading()) != std::string::npos);
      const std::string name = option.names.back();
      const bool is_long = name.starts_with("--");
      const std::string in_fish = is_long ? " -l " + name.substr(2) + " " : " -s " + name.substr(1) + " ";
      const std::size_t of_command = fish.find("_from " + command.name + "'");
      REQUIRE(of_command != std::string::npos);
      CHECK(fish.find(in_fish, of_command) != std::string::npos);
      const char* const in_zsh = is_long && !option.value.empty() ? "=[" : "[";
      CHECK(zsh.find("'*" + name + in_zsh) != std::string::npos);
    }
  }
}

TEST_CASE("help fits a terminal") {
  const Application application("");
  CommandDoc root = describe(application.root());
  root.commands.push_back(root);
  for (const CommandDoc& command : root.commands) {
    const std::string help = render_help(command);
    for (std::size_t begin = 0; begin < help.size();) {
      const std::size_t end = help.find('\n', begin);
      CAPTURE(help.substr(begin, end - begin));
      CHECK(end - begin <= 80);
      begin = end + 1;
    }
  }
}

TEST_CASE("manual pages hold no accidental roff") {
  const Application application("");
  CommandDoc doc;
  doc.name = "x";
  doc.summary = "Says .dot and back\\slash.";
  doc.details = ".starts with a dot";
  const std::string page = render_man_page(doc);
  CHECK(page.find("\n\\&.starts") != std::string::npos);
  CHECK(page.find("back\\eslash") != std::string::npos);
}
