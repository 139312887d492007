#include "formats/table/table_text.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/number_text.h"
#include "file/input_error.h"

namespace warpmer::formats {
namespace {

/// Bytes of a batch: of an index's k-mers at k = 31 these are 190,000 rows.
constexpr std::size_t kBatchBytes = std::size_t{8} << 20;
constexpr std::string_view kLacking = "NA";

[[noreturn]] void fail_at_field(const TableColumn& column, std::string_view field) {
  throw InternalError(
      fmt::format("a row of a table has {} for its column {}", file::quoted(field, 80), column.name));
}

std::uint64_t number_of(const TableColumn& column, std::string_view field) {
  const auto number = whole_number(field);
  if (!number) fail_at_field(column, field);
  return *number;
}

/// Not by from_chars, which not all libraries have for these.
double real_of(const TableColumn& column, std::string_view field) {
  const std::string text(field);
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || end != text.c_str() + text.size()) fail_at_field(column, field);
  return number;
}

void append_field(const TableColumn& column, std::string_view field, ColumnValues& values) {
  if (column.may_lack) {
    values.lacks.push_back(field == kLacking ? 1 : 0);
    if (field == kLacking) field = "0";
  }
  switch (column.type) {
    case ColumnType::number:
      values.numbers.push_back(number_of(column, field));
      break;
    case ColumnType::real:
      values.reals.push_back(real_of(column, field));
      break;
    case ColumnType::text:
    case ColumnType::kmer:
      values.text += field;
      values.offsets.push_back(static_cast<std::int32_t>(values.text.size()));
      break;
  }
}

bool is_of_texts(const TableColumn& column) {
  return column.type == ColumnType::text || column.type == ColumnType::kmer;
}

/// Bytes of a value besides those of its text.
std::size_t value_bytes(const TableColumn& column) {
  return (is_of_texts(column) ? sizeof(std::int32_t) : sizeof(std::uint64_t)) + (column.may_lack ? 1 : 0);
}

/// Takes the memory of so many rows, so that it counts when it is asked how much is left.
void hold(const TableColumn& column, std::size_t rows, std::size_t text_bytes, ColumnValues& values) {
  if (is_of_texts(column)) {
    values.text.resize(rows * text_bytes);
    values.offsets.resize(rows + 1);
  } else if (column.type == ColumnType::number) {
    values.numbers.resize(rows);
  } else {
    values.reals.resize(rows);
  }
  values.lacks.resize(column.may_lack ? rows : 0);
}

void clear(ColumnValues& values) {
  values.numbers.clear();
  values.reals.clear();
  values.text.clear();
  values.offsets.resize(1);
  values.lacks.clear();
}

}  // namespace

TableText::TableText(TableSchema schema, std::unique_ptr<TableWriter> writer)
    : schema_(std::move(schema)), writer_(std::move(writer)) {
  batch_.columns.resize(schema_.columns.size());
  std::size_t text_bytes = 0;  // of a row, if texts are k-mers
  for (const TableColumn& column : schema_.columns) {
    row_bytes_ += value_bytes(column);
    text_bytes += is_of_texts(column) ? schema_.k : 0;
  }
  const std::size_t rows = kBatchBytes / (row_bytes_ + text_bytes);
  for (std::size_t i = 0; i < batch_.columns.size(); ++i) {
    hold(schema_.columns[i], rows, schema_.k, batch_.columns[i]);
    clear(batch_.columns[i]);
  }
}

void TableText::write(std::string_view text, const Progress& so_far) {
  if (so_far.total > 0) so_far_ = so_far;
  if (!begun_.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      begun_ += text;
      return;
    }
    begun_ += text.substr(0, end + 1);
    take_rows(std::exchange(begun_, {}));
    text.remove_prefix(end + 1);
  }
  const std::size_t end = text.rfind('\n') + 1;  // 0 where there is none
  take_rows(text.substr(0, end));
  begun_ = text.substr(end);
}

void TableText::take_rows(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    take_row(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
}

void TableText::take_row(std::string_view row) {
  const std::size_t columns = schema_.columns.size();
  batch_bytes_ += row_bytes_;
  for (std::size_t i = 0; i < columns; ++i) {
    const TableColumn& column = schema_.columns[i];
    const std::size_t end = i + 1 < columns ? row.find('\t') : row.size();
    if (end == std::string_view::npos) fail_at_field(column, row);
    append_field(column, row.substr(0, end), batch_.columns[i]);
    if (is_of_texts(column)) batch_bytes_ += end;
    row.remove_prefix(i + 1 < columns ? end + 1 : end);
  }
  ++batch_.rows;
  if (batch_bytes_ >= kBatchBytes) flush();
}

void TableText::flush() {
  if (batch_.rows > 0) writer_->append(batch_, so_far_);
  batch_.rows = 0;
  batch_bytes_ = 0;
  for (ColumnValues& values : batch_.columns) clear(values);
}

void TableText::finish() {
  if (!begun_.empty()) throw InternalError("the last row of a table has no end");
  flush();
  writer_->finish();
}

}  // namespace warpmer::formats
