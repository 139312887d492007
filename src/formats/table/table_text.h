#pragma once
/// Rows of text with tabs, as commands write them, on their way to a file of typed columns.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "formats/table/table.h"

namespace warpmer::formats {

/// So there is one description of what a command's columns hold, and tables have what its text has. Holds a
/// batch of rows, the size of which depends on the rows alone, and so do the bytes of the file.
class TableText {
 public:
  TableText(TableSchema schema, std::unique_ptr<TableWriter> writer);

  /// Takes a piece of the text, which may end anywhere, and has no line of names.
  void write(std::string_view text, const Progress& so_far = {});
  /// Writes what is left; nothing may follow.
  void finish();

 private:
  void take_rows(std::string_view text);
  void take_row(std::string_view row);
  void flush();

  TableSchema schema_;
  std::unique_ptr<TableWriter> writer_;
  std::size_t row_bytes_ = 0;  ///< bytes of a row's numbers
  std::string begun_;          ///< a row that a piece of text ended in
  TableBatch batch_;
  std::size_t batch_bytes_ = 0;
  Progress so_far_;
};

}  // namespace warpmer::formats
