#pragma once
/// What samples are called in tables: by their files.

#include <string>
#include <vector>

namespace warpmer::cli {

/// For each path the file's name without `.wmi`; where several would be called the same, their paths, and
/// where these are the same, too, the path with `#2`, `#3`. Tabs and line breaks become `_`, and with
/// `without_blanks` blanks do, too. What is in `taken` is what other samples are called, by the same rules:
/// where one of them is called by its path, nobody gets the short name.
std::vector<std::string> sample_names(const std::vector<std::string>& paths, bool without_blanks,
                                      const std::vector<std::string>& taken = {});

}  // namespace warpmer::cli
