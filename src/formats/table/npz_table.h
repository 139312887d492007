#pragma once
/// A table as a file of NumPy arrays, one for each column and one, a matrix, for those of samples.

#include <cstdint>
#include <string>
#include <vector>

#include "formats/table/byte_spool.h"
#include "formats/table/npz_file.h"
#include "formats/table/table.h"

namespace warpmer::formats {

/// K-mers are numbers of 2k bits, as `dump` has them, and texts are bytes. Arrays stand one after the other
/// in the file, and how many rows there are is known at the end: until then the columns wait in a temporary
/// file.
class NpzTable : public TableWriter {
 public:
  /// `directory`: for the temporary file, which there is none of if a few MiB will do.
  NpzTable(const TableSchema& schema, const std::string& directory, WriteTable write);

  void append(const TableBatch& batch, const Progress& so_far) override;
  void finish() override;

 private:
  struct NpzArray {
    std::string name;
    ColumnType type = ColumnType::number;
    bool is_matrix = false;            ///< of numbers
    std::vector<std::size_t> columns;  ///< one, but for a matrix
    std::size_t longest = 1;           ///< bytes of a text
    ByteSpool spool;
  };

  void append(NpzArray& array, const TableBatch& batch);
  void write(const NpzArray& array, NpzWriter& npz) const;
  [[nodiscard]] std::uint64_t bytes_of(const NpzArray& array) const;

  TableSchema schema_;
  WriteTable write_;
  SpoolFile file_;
  std::vector<NpzArray> arrays_;
  std::uint64_t rows_ = 0;
};

}  // namespace warpmer::formats
