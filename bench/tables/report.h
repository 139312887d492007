#pragma once
/// Rows of the table experiments as text, CSV and JSON.

#include <cstdio>
#include <string>
#include <vector>

#include "tables/experiment.h"

namespace warpmer::bench {

[[nodiscard]] const char* name_of(Distribution distribution);
[[nodiscard]] const char* name_of(Outcome outcome);

/// A table on standard output, a line for each row as it comes.
class TextReport {
 public:
  void begin(const std::vector<std::uint32_t>& hits_percent) const;
  void begin_others() const;
  void add(const Row& row) const;
};

/// All rows, one line for each operation of each: insertions, and lookups by hit ratio, or other ones. Long
/// form, as plotting programs take it.
[[nodiscard]] std::string csv_of(const std::vector<Row>& rows);
/// An array of objects, one for each row.
[[nodiscard]] std::string json_of(const std::vector<Row>& rows);

/// Writes a report whole; `-` is standard output. Throws ResourceError.
void write_report(const std::string& path, const std::string& text);

}  // namespace warpmer::bench
