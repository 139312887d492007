#pragma once
/// Names samples in tables, by their files.

#include <string>
#include <vector>

namespace warpmer::cli {

/// Returns for each path the file's name without `.wmi`; if several would have the same name, their paths,
/// and if these are the same, too, the path with `#2`, `#3`. Tabs and line breaks become `_`, and with
/// `without_blanks` blanks do, too. `taken` are the names of other samples, by the same rules: if one of them
/// is named by its path, no sample gets the short name. `columns` are other columns of the table, whose names
/// no sample gets.
std::vector<std::string> sample_names(const std::vector<std::string>& paths, bool without_blanks,
                                      const std::vector<std::string>& taken = {},
                                      const std::vector<std::string>& columns = {});

}  // namespace warpmer::cli
