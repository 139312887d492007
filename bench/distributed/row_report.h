#pragma once
/// Reports rows of named values as text, CSV and JSON.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace warpmer::bench {

/// Prints rows as they come, and keeps them for the files. All have the same names in the same order.
class RowReport {
 public:
  using Row = nlohmann::ordered_json;

  /// The paths are those of the files that get all rows in the end: - for standard output, or empty for none.
  RowReport(std::string csv, std::string json) : csv_(std::move(csv)), json_(std::move(json)) {}

  /// Adds a row; `hidden` are the names that are only in the files.
  void add(Row row, const std::vector<std::string>& hidden);
  /// Writes the files. Throws a ResourceError.
  void finish() const;

 private:
  std::string csv_, json_;
  std::vector<Row> rows_;
};

}  // namespace warpmer::bench
