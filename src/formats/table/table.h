#pragma once
/// A table of typed columns, which is written in batches of rows: what files of NumPy arrays and other binary
/// tables have in common.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/progress.h"

namespace warpmer::formats {

enum class ColumnType : std::uint8_t {
  number,  ///< a whole number of 64 bits, without sign
  real,    ///< of 64 bits
  text,    ///< bytes without tabs and line feeds; mostly UTF-8
  kmer,    ///< k upper-case bases
};

struct TableColumn {
  std::string name;
  ColumnType type = ColumnType::number;
  std::string array;       ///< name in `.npz`
  bool may_lack = false;   ///< rows may have no value here: `NA` in text
  bool is_sample = false;  ///< called by a sample; in `.npz` these are a matrix, and their names an array
};

struct TableSchema {
  std::uint32_t k = 0;
  std::vector<TableColumn> columns;
};

/// A column's values, as many as the batch has rows, in the member for its type.
struct ColumnValues {
  std::vector<std::uint64_t> numbers;
  std::vector<double> reals;
  std::string text;                      ///< texts and k-mers, one after the other
  std::vector<std::int32_t> offsets{0};  ///< where each begins in `text`, and where the last one ends
  std::vector<std::uint8_t> lacks;       ///< 1 for no value (and 0 stands for it); only if `may_lack`

  [[nodiscard]] std::string_view text_of(std::size_t row) const {
    const auto begin = static_cast<std::size_t>(offsets[row]),
               end = static_cast<std::size_t>(offsets[row + 1]);
    return std::string_view(text).substr(begin, end - begin);
  }
};

struct TableBatch {
  std::size_t rows = 0;
  std::vector<ColumnValues> columns;
};

/// Takes the bytes of a file in order, with the share of all that is there with them, about.
using WriteTable = std::function<void(std::string_view bytes, const Progress& so_far)>;

/// Used by one thread at a time.
class TableWriter {
 public:
  TableWriter() = default;
  virtual ~TableWriter() = default;
  TableWriter(const TableWriter&) = delete;
  TableWriter& operator=(const TableWriter&) = delete;

  /// Adds rows; `so_far` is the share of all rows that is there with these.
  virtual void append(const TableBatch& batch, const Progress& so_far) = 0;
  /// Writes what is left; nothing may follow.
  virtual void finish() = 0;
};

}  // namespace warpmer::formats
