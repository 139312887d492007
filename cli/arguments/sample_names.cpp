#include "cli/arguments/sample_names.h"

#include <fmt/format.h>

#include <cctype>
#include <filesystem>
#include <map>
#include <set>

#include "cli/framework/printable.h"

namespace warpmer::cli {
namespace {

std::string short_name(const std::string& path) {
  if (path == "-") return "stdin";
  const std::filesystem::path file = std::filesystem::path(path).filename();
  const std::string name = (file.extension() == ".wmi" ? file.stem() : file).string();
  return name.empty() ? path : name;
}

/// Without the `#2` of a path that is there twice.
std::string without_number(const std::string& name) {
  const std::size_t mark = name.rfind('#');
  const bool is_number = mark != std::string::npos && mark + 1 < name.size() &&
                         name.find_first_not_of("0123456789", mark + 1) == std::string::npos;
  const std::string path = is_number ? name.substr(0, mark) : name;
  return path.ends_with(".wmi") || path.find('/') != std::string::npos ? path : name;
}

std::string cleaned(std::string name, bool without_blanks) {
  for (char& c : name) {
    const bool is_control = std::iscntrl(static_cast<unsigned char>(c)) != 0;
    if (is_control || (without_blanks && c == ' ')) c = '_';
  }
  return printable(name);
}

}  // namespace

std::vector<std::string> sample_names(const std::vector<std::string>& paths, bool without_blanks,
                                      const std::vector<std::string>& taken_names,
                                      const std::vector<std::string>& columns) {
  std::vector<std::string> names;
  std::map<std::string, int> uses;
  for (const std::string& column : columns) ++uses[column];
  for (const std::string& name : taken_names) {
    ++uses[name];
    // A sample that is named by its path, because another had the same name, leaves that name to no other.
    const std::string short_one = cleaned(short_name(without_number(name)), without_blanks);
    if (short_one != name) ++uses[short_one];
  }
  for (const std::string& path : paths) {
    names.push_back(cleaned(short_name(path), without_blanks));
    ++uses[names.back()];
  }
  std::set<std::string> taken(taken_names.begin(), taken_names.end());
  taken.insert(columns.begin(), columns.end());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (uses[names[i]] > 1) names[i] = cleaned(paths[i], without_blanks);
    const std::string name = names[i];
    for (int number = 2; !taken.insert(names[i]).second; ++number)
      names[i] = fmt::format("{}#{}", name, number);
  }
  return names;
}

}  // namespace warpmer::cli
