#pragma once
/// Sections of MultiQC's reports, in its format for custom content: JSON in a file whose name ends in
/// `_mqc.json`.

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "cli/framework/text_output.h"
#include "cli/output/index_summary.h"

namespace warpmer::cli {

/// A section; MultiQC joins those of one id, of any number of files.
struct MultiqcSection {
  std::string id, name, description;
  Json headers;                ///< of a table: for each column, in their order, title, description, format
  Json data = Json::object();  ///< for each sample a cell for each column, or points of a line
  bool is_lines = false;
  std::string x_label, y_label;  ///< of lines
};

/// The file of `--multiqc`.
class MultiqcFile {
 public:
  /// Opens the file before the run. An empty path asks for nothing. UsageError for a name that MultiQC does
  /// not look for.
  explicit MultiqcFile(const std::string& path);

  [[nodiscard]] bool is_wanted() const { return file_.has_value(); }
  void write(const MultiqcSection& section);
  /// Gives it and all other outputs of the command their names.
  void finish();

 private:
  std::optional<TextOutput> file_;
};

/// `--multiqc`; `section` says in a few words what the section has.
void add_multiqc_flag(CLI::App& app, std::string& path, const std::string& section);

}  // namespace warpmer::cli
