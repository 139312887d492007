#include "io/text/repeated_inputs.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstddef>
#include <map>
#include <string_view>
#include <tuple>

#include "base/warning.h"

namespace warpmer::io {

void warn_of_repeats(const std::vector<std::string>& inputs) {
  // A file is known by where it is; what is none, a URL, by its name.
  std::map<std::tuple<dev_t, ino_t, std::string_view>, const std::string*> first_names;
  std::string first_repeat;
  std::size_t repeats = 0;
  for (const std::string& input : inputs) {
    struct stat status = {};
    const bool is_file = stat(input.c_str(), &status) == 0;
    if (input == "-" || (is_file && !S_ISREG(status.st_mode))) continue;
    const auto [place, is_new] = first_names.emplace(
        std::tuple(status.st_dev, status.st_ino, is_file ? std::string_view() : std::string_view(input)),
        &input);
    if (is_new || repeats++ > 0) continue;
    first_repeat = *place->second == input
                       ? fmt::format("'{}' is named more than once", input)
                       : fmt::format("'{}' and '{}' are the same file", *place->second, input);
  }
  if (repeats == 0) return;
  if (repeats > 1) first_repeat += fmt::format(", and {} more of the inputs repeat others", repeats - 1);
  warn(first_repeat + "; a file is read as often as it is named");
}

}  // namespace warpmer::io
