#include "distributed/row_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "tables/report.h"

namespace warpmer::bench {
namespace {

/// Returns the text for people: four digits, or all of a whole number; an unknown value is a dash.
std::string text_of(const RowReport::Row& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (!value.is_number_float()) return value.dump();
  return fmt::format("{:.4g}", value.get<double>());
}

std::string csv_field(const RowReport::Row& value) {
  if (value.is_null()) return "";
  return value.is_string() ? fmt::format("\"{}\"", value.get<std::string>()) : value.dump();
}

}  // namespace

void RowReport::add(Row row, const std::vector<std::string>& hidden) {
  std::string heading, line;
  for (const auto& [name, value] : row.items()) {
    if (std::find(hidden.begin(), hidden.end(), name) != hidden.end()) continue;
    const std::size_t width = std::max<std::size_t>(name.size(), 10);
    heading += fmt::format("{:>{}} ", name, width);
    line += fmt::format("{:>{}} ", text_of(value), width);
  }
  if (rows_.empty()) std::printf("%s\n", heading.c_str());
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
  rows_.push_back(std::move(row));
}

void RowReport::finish() const {
  if (!csv_.empty()) {
    std::string text;
    for (const Row& row : rows_) {
      std::string names, values;
      for (const auto& [name, value] : row.items()) {
        const char* const before = names.empty() ? "" : ",";
        names += fmt::format("{}{}", before, name);
        values += fmt::format("{}{}", before, csv_field(value));
      }
      if (text.empty()) text = fmt::format("{}\n", names);
      text += fmt::format("{}\n", values);
    }
    write_report(csv_, text);
  }
  if (!json_.empty()) write_report(json_, Row(rows_).dump(2) + "\n");
}

}  // namespace warpmer::bench
