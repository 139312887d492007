#pragma once
/// Reports rows of the table experiments as text, CSV and JSON.

#include <string>
#include <vector>

#include "tables/experiment.h"

namespace warpmer::bench {

[[nodiscard]] const char* name_of(Distribution distribution);
[[nodiscard]] const char* name_of(Outcome outcome);

/// Prints a table on standard output, with a line for each row as it comes.
class TextReport {
 public:
  void begin(const std::vector<std::uint32_t>& hits_percent) const;
  void begin_others() const;
  void add(const Row& row) const;
};

/// Returns all rows as CSV, with one line for each operation of each: insertions, and lookups by hit ratio,
/// or other ones. It is the long form that plotting programs take.
[[nodiscard]] std::string csv_of(const std::vector<Row>& rows);
/// Returns an array of objects, one for each row.
[[nodiscard]] std::string json_of(const std::vector<Row>& rows);

/// Writes a whole report; `-` is standard output. Throws a ResourceError.
void write_report(const std::string& path, const std::string& text);

}  // namespace warpmer::bench
