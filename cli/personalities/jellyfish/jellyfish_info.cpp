/// `jellyfish info`: what the header of a database says.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "cli/framework/exit_status.h"
#include "cli/framework/text_output.h"
#include "cli/personalities/jellyfish/jellyfish.h"

namespace warpmer::cli {
namespace {

/// Returns a word as a shell would read it, with quotes where Jellyfish has them.
std::string quoted_word(const std::string& word) {
  constexpr std::string_view kBlunt = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-./_";
  if (word.find_first_not_of(kBlunt) == std::string::npos) return word;
  std::string text(1, '\'');
  for (const char each : word) {
    if (each == '\'') {
      text += "'\\''";
    } else {
      text += each;
    }
  }
  text += '\'';
  return text;
}

std::string text_of(const nlohmann::json& header, const char* name) {
  const auto field = header.find(name);
  return field != header.end() && field->is_string() ? field->get<std::string>() : std::string();
}

std::string command_of(const nlohmann::json& header) {
  std::string text = text_of(header, "exe_path");
  const auto words = header.find("cmdline");
  if (words == header.end() || !words->is_array()) return text;
  for (const auto& word : *words) {
    text += ' ';
    if (word.is_string()) text += quoted_word(word.get<std::string>());
  }
  return text;
}

std::string info_of(const nlohmann::json& header) {
  const std::string host = text_of(header, "hostname");
  const bool is_canonical = header.value("canonical", nlohmann::json(false)) == nlohmann::json(true);
  return fmt::format("command: {}\nwhere: {}{}{}\nwhen: {}\ncanonical: {}\n", command_of(header),
                     quoted_word(host), host.empty() ? "" : ":", quoted_word(text_of(header, "pwd")),
                     text_of(header, "time"), is_canonical ? "yes" : "no");
}

/// Writes JSON as Jellyfish's library does (JsonCpp, its StyledWriter), whose text scripts may look for.
class StyledJson {
 public:
  using Json = nlohmann::json;

  std::string text(const Json& value) {
    text_.clear();
    write(value);
    return text_ + '\n';
  }

 private:
  static constexpr std::size_t kIndent = 3, kMargin = 74;

  void write(const Json& value) {
    if (value.is_object() && !value.empty()) {
      write_object(value);
    } else if (value.is_array() && !value.empty()) {
      write_array(value);
    } else {
      text_ += value.dump(-1, ' ', false, Json::error_handler_t::replace);
    }
  }

  void write_object(const Json& object) {
    begin('{');
    for (auto member = object.begin(); member != object.end(); ++member) {
      next_line(member == object.begin());
      text_ += Json(member.key()).dump() + " : ";
      write(*member);
    }
    end('}');
  }

  void write_array(const Json& array) {
    if (const std::string line = on_one_line(array); !line.empty()) {
      text_ += line;
      return;
    }
    begin('[');
    for (auto element = array.begin(); element != array.end(); ++element) {
      next_line(element == array.begin());
      write(*element);
    }
    end(']');
  }

  /// Returns nothing where the list is too long for that, or has others in it.
  static std::string on_one_line(const Json& array) {
    const auto is_list = [](const Json& each) { return each.is_structured() && !each.empty(); };
    if (array.size() * 3 >= kMargin || std::any_of(array.begin(), array.end(), is_list)) return {};
    std::string line = "[ ";
    for (const Json& each : array) {
      if (line.size() > 2) line += ", ";
      line += each.dump(-1, ' ', false, Json::error_handler_t::replace);
    }
    line += " ]";
    return line.size() < kMargin ? line : std::string();
  }

  void begin(char bracket) {
    text_ += bracket;
    indent_ += kIndent;
  }
  void next_line(bool is_first) { text_ += (is_first ? "\n" : ",\n") + std::string(indent_, ' '); }
  void end(char bracket) {
    indent_ -= kIndent;
    text_ += '\n' + std::string(indent_, ' ') + bracket;
  }

  std::string text_;
  std::size_t indent_ = 0;
};

}  // namespace

int run_jellyfish_info(const JellyfishWords& command) {
  using enum ValuePlace;
  bool skips = false, is_json = false, is_command = false;
  OptionTable table{"jellyfish info",
                    {taken("-s,--skip", none, "print all that is behind the header", set_flag(skips)),
                     taken("-j,--json", none, "print the header, as JSON", set_flag(is_json)),
                     taken("-c,--cmd", none, "print the command line only", set_flag(is_command))}};
  const auto arguments = jellyfish_arguments(command, std::move(table), "file", 1, 1);
  if (!arguments) return kDone;
  if (skips + is_json + is_command > 1) throw UsageError("jellyfish info: -s, -j and -c exclude each other");
  const file::MappedInput file(arguments->front(), formats::kJellyfishMarkBytes, formats::check_is_jellyfish);
  const std::uint64_t begin = formats::read_jellyfish_header(file, {}).bytes;
  TextOutput output("-");
  if (skips) {
    const auto rest = file.bytes().subspan(begin);
    output.write({reinterpret_cast<const char*>(rest.data()), rest.size()});
  } else {
    const auto header = nlohmann::json::parse(formats::jellyfish_json(file));
    output.write(is_json      ? StyledJson().text(header)
                 : is_command ? command_of(header) + "\n"
                              : info_of(header));
  }
  output.finish();
  return kDone;
}

}  // namespace warpmer::cli
